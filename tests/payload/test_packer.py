"""What ``pack`` sends, leaves out and says."""

from __future__ import annotations

import resource
import threading
import types

import pytest

from nbtune.payload import pack


def test_a_function_and_the_cell_share_one_namespace(notebook):
    notebook.cell(
        """
        step = 0
        lr = 0.1
        def bump():
            global step
            step += 1
        def current(): return lr
        """
    )
    notebook.send("bump", "current")
    assert notebook.rank("bump(); bump(); lr = 0.5; print(step, current())") == (
        "2 0.5\n"
    )


def test_only_what_is_used_travels(notebook):
    notebook.cell(
        """
        import threading
        guard, used, unused = threading.Lock(), 1, 2
        def f(x): return x.unused + used
        """
    )
    packed = notebook.send("f")
    assert packed.names == ("f", "used")
    assert packed.reached == {"used": "f"}


def test_names_are_followed_through_nested_code_classes_and_string_hints(notebook):
    notebook.cell(
        """
        from __future__ import annotations
        from typing import Optional
        deep = k = 1
        class Tok: ...
        def f(x: Optional[Tok] = None) -> Tok:
            class Inner:
                z = k
            return [(lambda: deep)() for _ in "ab"], Inner.z
        """
    )
    packed = notebook.send("f")
    assert set(packed.reached) == {"Optional", "Tok", "deep", "k"}
    hints = notebook.rank("import typing; print(f(), typing.get_type_hints(f)['x'])")
    assert hints == "([1, 1], 1) typing.Optional[__main__.Tok]\n"


def test_nothing_is_followed_when_that_is_not_asked_for(notebook):
    notebook.cell(
        """
        used = 1
        class Out:
            def get(self): return used
        def f(): return used
        o = Out()
        """
    )
    assert notebook.pack("f", "o", follow=False).names == ("f", "o", "Out")


def test_a_rule_can_keep_names_from_being_followed(notebook):
    notebook.cell("mine = 1; theirs = 2\ndef f(): return mine, theirs")
    packed = notebook.pack("f", follow=lambda name, _: name != "theirs")
    assert packed.names == ("f", "mine")


def test_the_shell_of_this_side_stays_here(notebook):
    owner = types.new_class("Shell", exec_body=lambda ns: ns.update(f=lambda s: s))
    owner.__module__ = "IPython.core.interactiveshell"
    notebook.names["get_ipython"] = owner().f
    notebook.cell("def f(): return get_ipython()")
    assert notebook.send("f").names == ("f",)


def test_an_object_shared_by_two_names_stays_one(notebook):
    notebook.cell("common = []; a = {'x': common}; b = (common,)")
    notebook.send("a", "b")
    values = notebook.receive().values
    assert values["a"]["x"] is values["b"][0]


def test_all_offenders_are_told_at_once_and_cost_nothing_else(notebook):
    notebook.cell(
        """
        import threading
        common = [1]
        good = common
        bad = [common, threading.Lock()]
        squares = (i for i in range(3))
        last = common
        """
    )
    packed = notebook.pack("good", "bad", "squares", "last")
    assert [p.path for p in packed.problems] == ["bad[1]", "squares"]
    values = notebook.receive().values
    assert values == {"good": [1], "last": [1]}
    assert values["good"] is values["last"]


def test_an_offender_first_leaves_no_trace_in_later_names(notebook):
    notebook.cell(
        """
        import threading
        import torch
        class A: pass
        shared = A(); shared.t = torch.arange(3)
        bad = [shared, threading.Lock()]
        """
    )
    packed = notebook.pack("bad", "shared")
    assert packed.names == ("shared", "A")
    assert notebook.receive().values["shared"].t.tolist() == [0, 1, 2]


def test_a_name_that_is_reached_is_refused_with_the_name_that_uses_it(
    notebook, tmp_path
):
    notebook.cell("def note(msg): log.write(msg)")
    with (tmp_path / "train.log").open("w") as log:
        notebook.names["log"] = log
        (problem,) = notebook.pack("note").problems
    assert (problem.name, problem.path, problem.via) == ("log", "log", "note")
    assert str(problem) == (
        "`log`, reached through `note`, cannot be sent: it is a _io.TextIOWrapper; "
        "build it inside the cell"
    )


def test_sizes_count_buffers_and_shared_memory_counts_once(notebook):
    notebook.cell(
        """
        import numpy, torch
        array = numpy.zeros(10_000)
        full = torch.zeros(50_000)
        part = full[:100]
        """
    )
    packed = notebook.send("array", "full", "part")
    assert 80_000 <= packed.sizes["array"] < 81_000
    assert 200_000 <= packed.sizes["full"] < 201_000
    assert packed.sizes["part"] < 1_000
    written = sum(file.stat().st_size for file in notebook.folder.glob("*.[bp]*"))
    assert written == pytest.approx(sum(packed.sizes.values()), abs=200)


def test_without_a_folder_the_same_sizes_are_counted_and_nothing_written(
    notebook, tmp_path
):
    notebook.cell("import torch\nt = torch.zeros(50_000); x = [1, 2]")
    roots = {name: notebook.names[name] for name in ("t", "x")}
    counted = pack(roots, None, namespace=notebook.names)
    assert list(tmp_path.iterdir()) == []
    assert counted.sizes == notebook.send("t", "x").sizes


def test_modules_and_their_functions_go_by_name(notebook):
    notebook.cell("import json\nfrom os.path import join\nfrom decimal import Decimal")
    packed = notebook.send("json", "join", "Decimal")
    assert packed.modules >= {"json", "posixpath", "decimal"}
    assert notebook.rank("print(json.dumps(1), join('a', 'b'), Decimal('2'))") == (
        "1 a/b 2\n"
    )


def test_a_graph_that_stays_behind_is_said(notebook):
    notebook.cell("import torch\nw = torch.ones(2, requires_grad=True); y = w * 2")
    assert notebook.send("w", "y").warnings == ("y: its autograd graph is not sent",)


@pytest.fixture
def full_disk():
    """No file may grow beyond 100 kB; the signal for it is ignored by Python."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("text", ["x = b'x' * 1_000_000", "x = torch.zeros(10**6)"])
def test_a_full_disk_is_an_error_of_the_system_not_of_the_value(notebook, text):
    notebook.cell(f"import torch\n{text}")
    with pytest.raises(OSError, match="File too large"):
        notebook.pack("x")
    assert not (notebook.folder / "index.json").exists()


def test_what_was_loaded_survives_another_payload_in_the_same_folder(notebook):
    notebook.cell("import torch\nx = torch.ones(1_000_000)")
    notebook.send("x")
    first = notebook.receive().values["x"]
    notebook.cell("x = torch.zeros(1)")
    notebook.send("x")
    assert first.sum() == 1_000_000
    assert notebook.receive().values["x"].tolist() == [0]


def test_an_interrupt_while_packing_gets_through(notebook):
    class Slow:
        def __reduce__(self):
            raise KeyboardInterrupt

    notebook.names["slow"] = Slow()
    with pytest.raises(KeyboardInterrupt):
        notebook.pack("slow")
    assert not (notebook.folder / "index.json").exists()


def test_nothing_global_is_changed_by_packing(notebook):
    from cloudpickle import cloudpickle

    notebook.cell("class A: pass\na = A()\ndef f(): return A")
    before = dict(cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS)
    notebook.send("a", "f")
    assert dict(cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS) == before
    assert cloudpickle.list_registry_pickle_by_value() == set()
    assert "__builtins__" not in vars(notebook.names["A"])


def test_the_values_of_a_running_lock_are_not_touched(notebook):
    lock = threading.Lock()
    notebook.names["lock"] = [lock]
    with lock:
        assert notebook.pack("lock").problems[0].path == "lock[0]"
