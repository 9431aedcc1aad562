"""The standard library's odd values."""

from __future__ import annotations

import logging
import sys

import pytest


def test_caches_arrive_empty_and_working(notebook):
    notebook.cell(
        """
        import functools
        @functools.lru_cache(None)
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        class A:
            @functools.cached_property
            def big(self):
                "Large."
                return 42
        a = A()
        """
    )
    notebook.names["fib"](5)
    notebook.send("fib", "a")
    out = notebook.rank(
        "print(fib.cache_info().currsize, fib(20), a.big, A.big.__doc__)"
    )
    assert out == "0 6765 42 Large.\n"


def test_a_cache_keeps_its_settings(notebook):
    notebook.cell(
        """
        import functools
        @functools.lru_cache(maxsize=3, typed=True)
        def f(n): return n
        """
    )
    notebook.send("f")
    f = notebook.receive().values["f"]
    assert f.cache_parameters() == {"maxsize": 3, "typed": True}


def test_a_cached_function_in_a_closure_of_itself_arrives(notebook):
    notebook.cell(
        """
        import functools
        def make():
            @functools.cache
            def f(n): return n and n + f(n - 1)
            return f
        f = make()
        """
    )
    notebook.send("f")
    assert notebook.receive().values["f"](4) == 10


def test_singledispatch_arrives_with_its_implementations(notebook):
    notebook.cell(
        """
        import functools
        @functools.singledispatch
        def show(x): return "any"
        @show.register
        def _(x: int): return "int"
        class P:
            @functools.singledispatchmethod
            def m(self, x): return "any"
            @m.register
            def _(self, x: str): return "str"
        p = P()
        """
    )
    notebook.send("show", "p")
    out = notebook.rank(
        """
        @show.register
        def _(x: list): return "list"
        print(show(1), show("x"), show([]), p.m(1), p.m(""))
        """
    )
    assert out == "int any list any str\n"


def test_context_variables_arrive_with_their_value(notebook):
    notebook.cell(
        """
        import contextvars
        full, empty = contextvars.ContextVar("full"), contextvars.ContextVar("empty")
        full.set(3)
        """
    )
    notebook.send("full", "empty")
    values = notebook.receive().values
    assert (values["full"].get(), values["full"].name) == (3, "full")
    with pytest.raises(LookupError):
        values["empty"].get()


def test_output_streams_are_the_other_sides(notebook):
    notebook.names["out"] = [sys.stdout, sys.stderr]
    notebook.send("out")
    assert (
        notebook.rank("import sys; print(out == [sys.stdout, sys.stderr])") == "True\n"
    )


@pytest.mark.parametrize("mode", ["r", "w", "rb", "wb", "r+b"])
def test_open_files_are_refused(notebook, tmp_path, mode):
    path = tmp_path / "file"
    path.touch()
    with path.open(mode) as file:
        notebook.names["file"] = file
        (problem,) = notebook.pack("file").problems
    assert problem.type_name.startswith("_io.")
    assert problem.advice == "build it inside the cell"


def test_loggers_go_by_name(notebook):
    notebook.names["logger"] = logging.getLogger("demo")
    notebook.send("logger")
    assert notebook.rank("print(logger.name)") == "demo\n"
