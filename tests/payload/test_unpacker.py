"""Loading: a bad name costs only itself."""

from __future__ import annotations

import linecache
import sys
import types

import pytest

from nbtune.payload import pack, unpack


@pytest.fixture
def ghost(monkeypatch):
    """A module that the receiving side will not have."""
    module = types.ModuleType("ghost")
    exec("class Ghost: pass\ndef boo(): pass", vars(module))
    monkeypatch.setitem(sys.modules, "ghost", module)
    return module


def _lose(monkeypatch):
    monkeypatch.delitem(sys.modules, "ghost")


def test_a_missing_module_fails_the_names_that_need_it(notebook, ghost, monkeypatch):
    notebook.names.update(
        ghost=ghost, boo=ghost.boo, a={"g": ghost.Ghost()}, b={"g": 1}
    )
    notebook.send("ghost", "boo", "a", "b")
    _lose(monkeypatch)
    found = unpack(notebook.folder, namespace={})
    missing = "ModuleNotFoundError: No module named 'ghost'"
    assert found.failures == dict.fromkeys(("ghost", "boo", "a"), missing)
    assert found.values == {"b": {"g": 1}}


def test_names_after_a_bad_one_need_nothing_of_it(notebook, ghost, monkeypatch):
    """They use its texts, modules and classes, which it wrote for all of them."""
    notebook.cell(
        """
        import collections, torch
        class Net: pass
        def make(): return Net()
        """
    )
    net = notebook.names["make"]()
    net.weight = notebook.names["torch"].arange(3)
    counter = notebook.names["collections"].Counter(weight=2)
    bad = [ghost.Ghost(), "weight", notebook.names["collections"].Counter(weight=1)]
    notebook.names.update(bad=bad, net=net, counter=counter)
    notebook.send("bad", "counter", "net", "make")
    _lose(monkeypatch)
    namespace = {}
    found = unpack(notebook.folder, namespace=namespace)
    namespace |= found.reached
    assert list(found.failures) == ["bad"]
    assert found.values["net"].weight.tolist() == [0, 1, 2]
    assert found.values["counter"] == counter
    assert type(found.values["make"]()) is type(found.values["net"])


def test_a_name_that_shares_an_object_with_a_bad_one_says_so(
    notebook, ghost, monkeypatch
):
    common = [1]
    bad = [common, ghost.Ghost()]
    notebook.names.update(first=[2], bad=bad, shares=common, last=[3])
    notebook.send("first", "bad", "shares", "last")
    _lose(monkeypatch)
    found = unpack(notebook.folder, namespace={})
    assert found.values == {"first": [2], "last": [3]}
    assert found.failures["shares"] == "it shares data with `bad`"


def test_sharing_is_kept_among_good_names_around_a_bad_one(
    notebook, ghost, monkeypatch
):
    common = [1]
    notebook.names.update(a=[common], bad=[ghost.Ghost()], b=(common,), c={0: common})
    notebook.send("a", "bad", "b", "c")
    _lose(monkeypatch)
    values = unpack(notebook.folder, namespace={}).values
    assert values["a"][0] is values["b"][0] is values["c"][0]


def test_out_of_band_memory_stays_in_step_after_a_bad_name(
    notebook, ghost, monkeypatch
):
    import numpy as np

    arrays = [np.full(5_000, n) for n in range(4)]
    notebook.names.update(
        a=arrays[0], bad=[arrays[1], ghost.Ghost(), arrays[2]], b=arrays[3]
    )
    notebook.send("a", "bad", "b")
    _lose(monkeypatch)
    values = unpack(notebook.folder, namespace={}).values
    assert (values["a"][0], values["b"][0]) == (0, 3)


def test_code_that_runs_while_loading_finds_names_that_come_later(notebook):
    notebook.cell(
        """
        import threading
        class Q:
            def __init__(self): self.lock = threading.Lock()
            def __getstate__(self): return {"v": 1}
            def __setstate__(self, state):
                self.__dict__.update(state, node=helper(1), lock=threading.Lock())
        def helper(v): return Node(v)
        class Node:
            def __init__(self, v): self.v = v
        q = Q()
        also = [q]
        """
    )
    notebook.send("q", "also")
    out = notebook.rank(
        """
        print(type(q) is Q, type(q.node) is Node, q.node.v, also[0] is q)
        """
    )
    assert out == "True True 1 True\n"


def test_the_namespace_is_as_it_was_in_the_end(notebook):
    notebook.cell("import json\nclass A: pass\na = A(); x = 1\ndef f(): return x")
    notebook.send("a", "f", "json")
    namespace = {"x": 5}
    found = notebook.receive(namespace=namespace)
    assert namespace == {"x": 5}
    assert found.reached["x"] == 1
    assert found.values["f"]() == 5


def test_an_unfinished_payload_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        unpack(tmp_path, namespace={})


def test_an_empty_payload_is_fine(tmp_path):
    assert pack({}, tmp_path, namespace={}).names == ()
    assert unpack(tmp_path, namespace={}).values == {}


def test_texts_of_cells_are_registered_and_own_ones_kept(notebook):
    file = notebook.cell("def f(): return 1\n")
    notebook.send("f")
    linecache.cache[file] = (1, None, ["own\n"], file)
    notebook.receive()
    assert linecache.getline(file, 1) == "own\n"
    del linecache.cache[file]
    notebook.receive()
    assert linecache.getline(file, 1) == "def f(): return 1\n"


def test_torch_is_not_imported_where_nothing_needs_it(notebook):
    notebook.cell("import json\nx = {'a': [1]}\ndef f(): return x")
    notebook.send("json", "f")
    assert notebook.rank("import sys; print('torch' in sys.modules)") == "False\n"
