"""Functions arrive with their code, their file and their closures."""

from __future__ import annotations


def test_closures_that_share_a_variable_go_on_sharing_it(notebook):
    notebook.cell(
        """
        def make():
            n = 0
            def inc():
                nonlocal n
                n += 1
            def get(): return n
            return inc, get
        inc, get = make()
        """
    )
    notebook.send("inc", "get")
    assert notebook.rank("inc(); inc(); print(get())") == "2\n"


def test_a_closure_that_calls_itself_arrives(notebook):
    notebook.cell(
        """
        def make():
            def fact(k): return 1 if k < 2 else k * fact(k - 1)
            return fact
        fact = make()
        """
    )
    notebook.send("fact")
    assert notebook.rank("print(fact(5))") == "120\n"


def test_an_empty_closure_variable_stays_empty(notebook):
    notebook.cell(
        """
        def make():
            def f():
                try:
                    return late
                except NameError:
                    return "empty"
            return f
            late = 1
        f = make()
        """
    )
    notebook.send("f")
    assert notebook.receive().values["f"]() == "empty"


def test_defaults_hints_attributes_and_names_are_kept(notebook):
    notebook.cell(
        """
        def f(a, b=[1], *, c: int = 2) -> str:
            "About f."
            return a, b, c
        f.mark = "x"
        """
    )
    notebook.send("f")
    f = notebook.receive().values["f"]
    assert (f(0), f.mark, f.__doc__) == ((0, [1], 2), "x", "About f.")
    assert f.__annotations__ == {"c": int, "return": str}
    assert (f.__module__, f.__qualname__) == ("__main__", "f")


def test_a_redefined_function_and_its_old_self_both_arrive(notebook):
    notebook.cell("def train(): return 'v1'\nkept = train")
    notebook.cell("def train(): return 'v2'")
    notebook.send("kept", "train")
    assert notebook.rank("print(kept(), train())") == "v1 v2\n"


def test_decorators_of_libraries_arrive(notebook):
    notebook.cell(
        """
        import contextlib
        base = 3
        @contextlib.contextmanager
        def managed():
            yield base
        """
    )
    notebook.send("managed")
    assert notebook.rank("with managed() as v: print(v)") == "3\n"


def test_source_and_file_of_a_function_arrive(notebook):
    file = notebook.cell(
        """
        def f(x):
            return x + 1
        """
    )
    notebook.pack("f", numbers={file: 7})
    out = notebook.rank(
        """
        import inspect
        print(inspect.getsource(f), f.__code__.co_filename, found.numbers, sep="")
        """
    )
    assert out == f"def f(x):\n    return x + 1\n{file}{ {file: 7} }\n"


def test_a_coroutine_function_and_a_generator_function_arrive(notebook):
    notebook.cell(
        """
        async def co(): return 1
        def gen(): yield 2
        """
    )
    notebook.send("co", "gen")
    assert notebook.rank("import asyncio; print(asyncio.run(co()), *gen())") == "1 2\n"
