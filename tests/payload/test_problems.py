"""What a user is told of a value that cannot travel."""

from __future__ import annotations

import functools
import multiprocessing as mp
import socket
import sqlite3
import subprocess
import sys
import threading

import pytest

from nbtune.payload import Problem, pack
from nbtune.payload.paths import path_to


@pytest.fixture
def refuse(notebook):
    """The one problem of a value called ``x``."""

    def refuse(value):
        notebook.names["x"] = value
        (problem,) = notebook.pack("x").problems
        return problem

    return refuse


def test_the_line_names_variable_path_type_and_cure(notebook):
    notebook.cell(
        """
        import threading
        class Bag:
            def __init__(self): self.inner = {"guard": threading.Lock()}
        bag = Bag()
        """
    )
    (problem,) = notebook.pack("bag").problems
    assert problem == Problem(
        name="bag",
        path="bag.inner['guard']",
        type_name="_thread.lock",
        advice="build it inside the cell",
    )
    assert str(problem) == (
        "`bag` cannot be sent: bag.inner['guard'] is a _thread.lock; "
        "build it inside the cell"
    )


class _Slotted:
    __slots__ = ("k",)


def _slotted(value):
    made = _Slotted()
    made.k = value
    return made


def _closure(value):
    return lambda: value


@pytest.mark.parametrize(
    ("wrap", "path"),
    [
        (lambda lock: lock, "x"),
        (lambda lock: [0, (lock,)], "x[1][0]"),
        (lambda lock: {1: {"a": lock}}, "x[1]['a']"),
        (lambda lock: {("a", 1): lock}, "x[<tuple>]"),
        (_slotted, "x.k"),
        (_closure, "x.<closure value>"),
        (lambda lock: functools.partial(print, lock), "x.args[0]"),
        (lambda lock: lambda a=lock: a, "x.__defaults__[0]"),
        (lambda lock: lambda *, a=lock: a, "x.__kwdefaults__['a']"),
    ],
)
def test_the_path_leads_to_the_culprit(refuse, wrap, path):
    problem = refuse(wrap(threading.Lock()))
    assert (problem.path, problem.type_name) == (path, "_thread.lock")


def test_a_culprit_in_a_class_is_found(notebook):
    notebook.cell("import threading\nclass A: lock = threading.Lock()\na = A()")
    problems = notebook.pack("a").problems
    assert [problem.path for problem in problems] == ["a.__class__.lock"]
    assert notebook.pack("A").problems[0].path == "A.lock"


def test_connections_queues_and_processes_are_refused(refuse):
    with socket.socket() as link:
        assert refuse(link).type_name == "socket.socket"
    link = sqlite3.connect(":memory:")
    assert refuse(link).type_name == "sqlite3.Connection"
    link.close()
    assert "inheritance" in refuse(mp.Queue()).advice
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        assert refuse(child).path == "x._waitpid_lock"


def test_generators_and_half_used_loaders_are_named_the_loader_passes(notebook):
    notebook.cell(
        """
        import torch
        squares = (i * i for i in range(5))
        loader = torch.utils.data.DataLoader(torch.arange(8.0), batch_size=2)
        it = iter(loader)
        """
    )
    packed = notebook.pack("squares", "it", "loader")
    iterator = "torch.utils.data.dataloader._SingleProcessDataLoaderIter"
    assert [str(problem) for problem in packed.problems] == [
        "`squares` cannot be sent: it is a generator; build it inside the cell",
        f"`it` cannot be sent: it is a {iterator}; build it inside the cell",
    ]
    assert packed.names == ("loader",)


def _nested(wrap):
    value = None
    for _ in range(100_000):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    "wrap",
    [lambda v: [v], lambda v: {"a": v}, _slotted],
    ids=["lists", "dicts", "objects"],
)
def test_a_very_deep_value_is_refused_by_name(refuse, wrap):
    limit = sys.getrecursionlimit()
    problem = refuse(_nested(wrap))
    assert (problem.path, problem.advice) == ("x", "nested too deeply, flatten it")
    assert sys.getrecursionlimit() == limit


def test_the_reason_of_the_values_own_code_is_told_in_a_line(refuse):
    class Bad:
        def __reduce__(self):
            raise ValueError("no way\nreally")

    problem = refuse([1, Bad()])
    assert problem.path == "x[1]"
    assert problem.advice == "build it inside the cell (ValueError: no way)"


def test_a_culprit_that_no_path_leads_to_is_still_named(refuse):
    class Hidden:
        def __reduce__(self):
            return print, (threading.Lock(),)

    problem = refuse(Hidden())
    assert (problem.path, problem.type_name) == ("x[...]", "_thread.lock")


def test_the_search_ends_on_values_that_refer_to_themselves():
    value = []
    value.append(value)
    assert path_to(object(), value, "x") is None


def test_a_value_whose_attributes_raise_is_named():
    class Bad:
        def __getattribute__(self, name):
            raise RuntimeError(name)

    packed = pack({"bad": Bad(), "good": 1}, None, namespace={})
    assert packed.names == ("good",)
    assert [problem.name for problem in packed.problems] == ["bad"]


@pytest.mark.parametrize("kind", [SystemExit, ValueError])
def test_a_value_that_raises_while_it_is_packed_costs_only_itself(kind):
    class Bad:
        def __reduce__(self):
            raise kind(0)

    packed = pack({"bad": Bad(), "good": 1}, None, namespace={})
    assert packed.names == ("good",)
    assert [problem.name for problem in packed.problems] == ["bad"]
