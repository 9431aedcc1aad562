"""Errors: what the code of a rank raised."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kernels import Cell, CellError, Kernel, ranks

if TYPE_CHECKING:
    from typing import Any


def _failed(cell: Cell) -> CellError:
    assert cell.error is not None, cell.text
    assert cell.error.ename == "WorkerError", cell.text
    return cell.error


def _attribute(kernel: Kernel, name: str) -> Any:
    return kernel.value(f"__import__('sys').last_value.{name}")


def test_err_01_the_traceback_shows_the_lines_of_the_cell(
    shared_kernel: Kernel,
) -> None:
    error = _failed(
        shared_kernel.run(
            "%%torchrun --nproc_per_node 2\n"
            'def inner(d): return d["lr"]\n'
            "x = 1\n"
            "inner({})"
        )
    )
    assert re.search(r"-> 4 inner\(\{\}\)", error.traceback)
    assert re.search(r'-> 2 def inner\(d\): return d\["lr"\]', error.traceback)
    assert "KeyError: 'lr'" in error.traceback
    assert "rank 0" in error.traceback
    for strange in "elastic", "nbtune/", "torch/distributed", "http", "error_file":
        assert strange not in error.traceback
    assert _attribute(shared_kernel, "exception") == "KeyError"
    assert _attribute(shared_kernel, "message") == "'lr'"


def test_err_01_the_traceback_shows_functions_of_earlier_cells(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("def earlier(d):\n    # the reason\n    return d['lr']")
    cell = shared_kernel.run("%%torchrun --nproc_per_node 2\nearlier({})")
    error = _failed(cell)
    assert re.search(r"-> 2 earlier\(\{\}\)", error.traceback)
    assert re.search(r"-> 3\s+return d\['lr'\]", error.traceback)
    assert cell.reply is not None
    count = cell.reply["execution_count"]
    shown = re.findall(r"Cell In\[(\d+)\]", error.traceback)
    assert shown == [str(count), str(count - 1)]


def test_err_02_the_rank_that_broke_first_is_named(shared_kernel: Kernel) -> None:
    error = _failed(
        shared_kernel.run(
            "%%torchrun --nproc_per_node 2\n"
            'dist.init_process_group("gloo")\n'
            "if os.environ['RANK'] == '1': raise ValueError('real cause')\n"
            "dist.all_reduce(torch.ones(1))"
        )
    )
    assert "rank 1" in error.evalue
    assert "real cause" in error.evalue
    about = [line for line in error.traceback.splitlines() if "rank 0" in line]
    assert len(about) == 1
    assert re.search("lost its peer|was stopped", about[0])
    assert len(about[0]) < 400
    assert _attribute(shared_kernel, "rank") == 1
    assert _attribute(shared_kernel, "local_rank") == 1
    assert _attribute(shared_kernel, "failures[0].rank") == 0


def test_err_07_an_exception_with_its_own_constructor_arrives(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "class Bad(Exception):\n"
        "    def __init__(self, code, what):\n"
        "        super().__init__(f'{code}:{what}'); self.code = code"
    )
    error = _failed(
        shared_kernel.run('%%torchrun --nproc_per_node 2\nraise Bad(3, "x")')
    )
    assert "Bad: 3:x" in error.traceback
    assert "TypeError" not in error.traceback
    assert _attribute(shared_kernel, "exception") == "Bad"


def test_err_07_an_exception_without_a_message_arrives(shared_kernel: Kernel) -> None:
    error = _failed(
        shared_kernel.run(
            "%%torchrun --nproc_per_node 2\n"
            "class Mute(Exception):\n"
            "    def __str__(self): raise RuntimeError('no words')\n"
            "raise Mute"
        )
    )
    assert "Mute" in error.evalue
    assert "Mute" in error.traceback


def test_err_08_both_parts_of_a_chain_are_shown_in_order(
    shared_kernel: Kernel,
) -> None:
    error = _failed(
        shared_kernel.run(
            "%%torchrun --nproc_per_node 2\n"
            'try: {}["lr"]\n'
            'except KeyError as e: raise ValueError("config is incomplete") from e'
        )
    )
    first, second = (
        error.traceback.index("KeyError: 'lr'"),
        error.traceback.rindex("ValueError: config is incomplete"),
    )
    assert first < error.traceback.index("direct cause") < second


def test_err_08_every_error_of_a_group_is_shown(shared_kernel: Kernel) -> None:
    error = _failed(
        shared_kernel.run(
            "%%torchrun --nproc_per_node 2\n"
            "raise ExceptionGroup('several', [ValueError('one'), TypeError('two')])"
        )
    )
    for text in "ExceptionGroup: several", "ValueError: one", "TypeError: two":
        assert text in error.traceback
    assert "nbtune/" not in error.traceback


def test_err_09_a_huge_message_is_shortened_and_whole_in_a_file(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.run(
        '%%torchrun --nproc_per_node 2\nraise RuntimeError("x" * 2_000_000)'
    )
    error = _failed(cell)
    assert len(cell.text) < 50_000
    assert "2,000,000" in error.traceback
    (path,) = set(re.findall(r"/\S+\.json", error.traceback))
    assert "x" * 2_000_000 in Path(path).read_text()
    assert _attribute(shared_kernel, "message.count('x')") == 2_000_000


def test_err_09_endless_recursion_is_folded(shared_kernel: Kernel) -> None:
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2\ndef f(n): return f(n + 1)\nf(0)"
    )
    error = _failed(cell)
    assert "RecursionError" in error.traceback
    assert re.search(r"\d{3} times", error.traceback)
    assert len(error.traceback.splitlines()) < 100


def test_err_10_a_base_exception_is_shown_like_any_other(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("import signal")
    error = _failed(
        shared_kernel.run(
            "%%torchrun --nproc_per_node 2\n"
            "class Stop(BaseException): ...\n"
            "if os.environ['RANK'] == '0': raise Stop('please')\n"
            "signal.pause()"
        )
    )
    assert "rank 0" in error.evalue
    assert "Stop: please" in error.traceback
    assert re.search(r"-> 3 if os", error.traceback)


def test_err_10_a_keyboard_interrupt_of_a_rank_is_not_the_stop_button(
    shared_kernel: Kernel,
) -> None:
    error = _failed(
        shared_kernel.run("%%torchrun --nproc_per_node 2\nraise KeyboardInterrupt")
    )
    assert "KeyboardInterrupt" in error.traceback
    assert "stopped by you" not in error.traceback
    assert _attribute(shared_kernel, "exception") == "KeyboardInterrupt"


def test_err_11_text_that_cannot_be_encoded_is_escaped(shared_kernel: Kernel) -> None:
    error = _failed(
        shared_kernel.run(
            "%%torchrun --nproc_per_node 2\n"
            'raise ValueError("no such file: \\udc80\\udcff.pt")'
        )
    )
    assert "ValueError: no such file: \\udc80\\udcff.pt" in error.traceback


def test_err_14_equal_errors_are_shown_once(shared_kernel: Kernel) -> None:
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 3\n"
        'dist.init_process_group("gloo"); dist.barrier()\n'
        'raise RuntimeError("same everywhere")'
    )
    error = _failed(cell)
    shown = re.findall(r"^RuntimeError: same everywhere", error.traceback, re.MULTILINE)
    assert len(shown) == 1
    assert re.search(r"also on ranks?\s", error.traceback)
    assert ranks(cell.stderr) == {}


def test_err_15_the_notebook_can_catch_it(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        "import nbtune\n"
        "try:\n"
        "    get_ipython().run_cell_magic('torchrun', '--nproc_per_node 2', '1/0')\n"
        "except nbtune.WorkerError as e:\n"
        "    print(type(e).__name__, 'ZeroDivisionError' in str(e))\n"
        "    print(e.rank in (0, 1), e.exception, e.message, e.exitcode, e.signal)\n"
        "    print('1/0' in e.traceback, '\\x1b' in e.traceback)\n"
        "    print(os.path.exists(e.error_file), [f.exception for f in e.failures])"
    )
    lines = cell.stdout.splitlines()[-4:]
    assert lines[:3] == [
        "WorkerError True",
        "True ZeroDivisionError division by zero 1 ",
        "True False",
    ]
    assert lines[3].startswith("True ")


@pytest.mark.parametrize("mode", ["Context", "Verbose", "Plain", "Minimal"])
def test_err_15_tb_shows_it_again(shared_kernel: Kernel, mode: str) -> None:
    shared_kernel.ok(f"%xmode {mode}")
    try:
        shared_kernel.run("%%torchrun --nproc_per_node 1\n1/0")
        cell = shared_kernel.run("%tb")
    finally:
        shared_kernel.ok("%xmode Context")
    assert "ZeroDivisionError" in cell.text
    assert "nbtune/" not in cell.text
