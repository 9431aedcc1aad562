"""Capture: one namespace, and only the names that are used."""

from __future__ import annotations

from tests.kernels import Kernel, ranks


def test_cap_01_a_notebook_function_bumps_a_global_that_the_cell_reads(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("step = 0\ndef bump():\n    global step\n    step += 1")
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out step\nbump(); bump()\nprint('step', step)"
    )
    assert ranks(cell.stdout) == {0: ["step 2"], 1: ["step 2"]}
    assert shared_kernel.value("step") == 2
    assert shared_kernel.value("(bump(), step)") == (None, 3)


def test_cap_02_a_notebook_function_sees_what_the_cell_rebinds(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("lr = 0.1\ndef current(): return lr")
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2\nlr = 0.5\nprint(current())")
    assert ranks(cell.stdout) == {0: ["0.5"], 1: ["0.5"]}
    assert shared_kernel.value("current()") == 0.1


def test_cap_03_model_and_optimizer_stay_linked_there_and_back(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "net = torch.nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters(), lr=1.0)"
    )
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out moved@all,net,opt\n"
        "net(torch.ones(1, 2)).sum().backward(); before = net.weight.clone()\n"
        "opt.step()\n"
        "moved = not torch.equal(before, net.weight)"
    )
    assert shared_kernel.value("moved") == [True, True]
    assert shared_kernel.value("opt.param_groups[0]['params'][0] is net.weight")


def test_cap_07_names_that_cannot_travel_are_harmless_when_unused(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "import threading, sqlite3\n"
        "guard = threading.Lock(); db = sqlite3.connect(':memory:'); x = 1"
    )
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2\nprint(x)")
    assert ranks(cell.stdout) == {0: ["1"], 1: ["1"]}


def test_cap_08_names_used_only_in_odd_places_are_captured(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("k = 3; names = ['a']\ndef deco(f): return f")
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "@deco\n"
        "def f(a=k): return a\n"
        "class C: z = k\n"
        "def outer():\n"
        "    def inner(): return k\n"
        "    return inner()\n"
        "print(f(), C.z, f'{1:>{k}}', [n * k for n in names], outer())"
    )
    line = "3 3   1 ['aaa'] 3"
    assert ranks(cell.stdout) == {0: [line], 1: [line]}


def test_cap_08_names_in_augmented_assignment_del_and_annotations_are_captured(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "count = 1; gone = 2; Kind = int; base = (list,); table = {'a': 1}\n"
        "class Meta(type): pass"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "count += 1\n"
        "del gone\n"
        "def typed(x: Kind) -> 'Kind': return x\n"
        "class Child(*base, metaclass=Meta): pass\n"
        "match {'a': 1}:\n"
        "    case found if found == table: pass\n"
        "print(count, typed.__annotations__['x'].__name__, type(Child).__name__,"
        " found, (lambda: table['a'])(), 'gone' in globals())"
    )
    line = "2 int Meta {'a': 1} 1 False"
    assert ranks(cell.stdout) == {0: [line], 1: [line]}


def test_cap_17_a_redefined_function_and_the_old_one_are_both_what_they_were(
    shared_kernel: Kernel,
) -> None:
    define = (
        "def train(): return 'v1'\n"
        "kept = train\n"
        "def train(): return 'v2'\n"
        "class Old:\n"
        "    def hi(self): return 'old'\n"
        "old = Old()\n"
        "class Old:\n"
        "    def hi(self): return 'new'"
    )
    shared_kernel.ok(define)
    shared_kernel.ok(define)
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(kept(), train(), old.hi(), Old().hi(), isinstance(old, Old))"
    )
    line = "v1 v2 old new False"
    assert ranks(cell.stdout) == {0: [line], 1: [line]}


def test_rs_01_a_small_slice_does_not_drag_its_storage_along(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("full = torch.zeros(4_000_000); tiny = full[:4]")
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\nprint(tiny.untyped_storage().nbytes())"
    )
    assert ranks(cell.stdout) == {0: ["16"], 1: ["16"]}


def test_rs_01_a_slice_captured_with_its_tensor_still_shares_the_storage(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("full = torch.zeros(4_000_000); tiny = full[2:4]")
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\ntiny += 1\nprint(full[:5].tolist())"
    )
    line = "[0.0, 0.0, 1.0, 1.0, 0.0]"
    assert ranks(cell.stdout) == {0: [line], 1: [line]}
