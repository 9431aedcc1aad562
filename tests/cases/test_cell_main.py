"""Cells: a true ``__main__`` with module semantics."""

from __future__ import annotations

import pytest

from tests.kernels import Kernel, ranks


def test_cell_10_the_main_guard_is_true(shared_kernel: Kernel) -> None:
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out got@all\n"
        "def main(): return int(os.environ['RANK'])\n"
        'if __name__ == "__main__":\n'
        "    got = main()"
    )
    assert shared_kernel.value("got") == [0, 1]


def test_cell_14_a_rank_can_save_an_object_of_a_notebook_class(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "class Net(torch.nn.Module):\n"
        "    def __init__(self): super().__init__(); self.l = torch.nn.Linear(2, 2)\n"
        "net = Net()"
    )
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "if int(os.environ['RANK']) == 0: torch.save(net, 'net.pt')"
    )
    shared_kernel.ok("loaded = torch.load('net.pt', weights_only=False)")
    assert shared_kernel.value("type(loaded) is Net")
    assert shared_kernel.value("torch.equal(loaded.l.weight, net.l.weight)")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_cell_15_a_pool_inside_a_rank_runs_functions_of_cell_and_notebook(
    shared_kernel: Kernel, method: str
) -> None:
    shared_kernel.ok("def cube(v): return v ** 3")
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out out@all\n"
        "import multiprocessing as mp\n"
        "print('once')\n"
        "def sq(v): return v * v\n"
        f"with mp.get_context('{method}').Pool(1) as p:\n"
        "    out = p.map(sq, [1, 2]) + p.map(cube, [2, 3])"
    )
    assert ranks(cell.stdout) == {0: ["once"], 1: ["once"]}
    assert shared_kernel.value("out") == [[1, 4, 8, 27]] * 2


@pytest.mark.slow
def test_cell_15_dataloader_workers_load_a_dataset_of_the_notebook(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "class Squares(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 3\n"
        "    def __getitem__(self, i): return i * i\n"
        "data = Squares()"
    )
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 1 --out got\n"
        "got = {}\n"
        "for method in 'spawn', 'fork':\n"
        "    loader = torch.utils.data.DataLoader(\n"
        "        data, num_workers=1, multiprocessing_context=method)\n"
        "    got[method] = [int(item) for item in loader]"
    )
    assert shared_kernel.value("got") == {"spawn": [0, 1, 4], "fork": [0, 1, 4]}


def test_cell_16_source_is_available_for_functions_of_cell_and_notebook(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("def f(x):\n    return x + 1")
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "import inspect, warnings; warnings.simplefilter('ignore')\n"
        "def g(x):\n"
        "    return x + 2\n"
        "print(inspect.getsource(f) + inspect.getsource(g), end='')\n"
        "print([torch.jit.script(h)(torch.ones(1)).item() for h in (f, g)])"
    )
    lines = [
        "def f(x):",
        "    return x + 1",
        "def g(x):",
        "    return x + 2",
        "[2.0, 3.0]",
    ]
    assert ranks(cell.stdout) == {0: lines, 1: lines}


def test_cell_18_star_imports_exec_and_comprehensions_behave_as_in_a_module(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "from math import *\n"
        "k = 3\n"
        'print([i * k for i in (1, 2)], floor(pi)); exec("z = 9"); print(z)\n'
        "global top\n"
        "top = 1\n"
        "class C: both = [top for _ in range(2)]\n"
        "print(C.both, __name__, globals() is vars(__import__('__main__')))"
    )
    lines = ["[3, 6] 3", "9", "[1, 1] __main__ True"]
    assert ranks(cell.stdout) == {0: lines, 1: lines}


def test_cell_19_a_cell_can_be_run_again(shared_kernel: Kernel) -> None:
    shared_kernel.ok("x = 0")
    source = (
        "%%torchrun --nproc_per_node 2 --out x\n"
        "dist.init_process_group('gloo'); dist.barrier()\n"
        "x = x + 1"
    )
    shared_kernel.ok(source)
    assert shared_kernel.value("x") == 1
    shared_kernel.ok(source)
    assert shared_kernel.value("x") == 2
