"""Interrupts while values are packed, written or loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kernels import Cell, Kernel

if TYPE_CHECKING:
    from pathlib import Path

# Tells by a file that it is being packed or loaded, and takes its time.
_SLOW = """
import time
class Slow:
    def __getstate__(self):
        return hold({path!r}, {packing}) or {{"kept": 1}}
    def __setstate__(self, state):
        hold({path!r}, {loading} and "RANK" not in os.environ)
        self.__dict__.update(state)
def hold(path, waits):
    if waits:
        open(path, "w").close(); time.sleep(600)
slow = Slow()
"""


def _interrupted(kernel: Kernel, source: str, reached: Path) -> Cell:
    handle = kernel.start(source)
    kernel.pump(lambda: reached.exists() or handle.cell.done, 60, handle.cell)
    kernel.interrupt()
    cell = handle.wait(30)
    assert cell.error is not None, cell.text
    assert cell.error.ename == "KeyboardInterrupt", cell.text
    assert len(cell.error.traceback.splitlines()) == 1, cell.text
    assert "stopped by you" in cell.error.traceback
    return cell


def test_int_10_an_interrupt_while_packing_leaves_no_job_behind(
    shared_kernel: Kernel, tmp_path: Path
) -> None:
    reached = tmp_path / "reached"
    shared_kernel.ok(_SLOW.format(path=str(reached), packing=True, loading=False))
    shared_kernel.ok("big = torch.zeros(1000)")
    before = shared_kernel.jobs()
    _interrupted(
        shared_kernel,
        "%%torchrun --nproc_per_node 2 --out big\nbig = [big.numel(), slow]",
        reached,
    )
    assert shared_kernel.jobs() == before
    assert shared_kernel.value("type(big).__name__") == "Tensor"
    shared_kernel.ok("%%torchrun --nproc_per_node 2\nn = big.numel()")


def test_int_10_an_interrupt_while_loading_changes_no_name(
    shared_kernel: Kernel, tmp_path: Path
) -> None:
    reached = tmp_path / "reached"
    shared_kernel.ok(_SLOW.format(path=str(reached), packing=False, loading=True))
    shared_kernel.ok("first = last = 'before'")
    _interrupted(
        shared_kernel,
        "%%torchrun --nproc_per_node 2 --out first,slow,last\n"
        "first = 'after'; slow = Slow(); last = 'after'",
        reached,
    )
    assert shared_kernel.value("(first, last)") == ("before", "before")
    assert shared_kernel.value("vars(slow)") == {}
    shared_kernel.ok("%%torchrun --nproc_per_node 2 --out first\nfirst = 'next'")
    assert shared_kernel.value("first") == "next"


def test_int_10_an_interrupt_while_a_large_tensor_is_written_is_prompt(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("big = torch.zeros(300_000_000, dtype=torch.uint8)")
    before = shared_kernel.jobs()
    jobs = shared_kernel.home / "jobs"
    handle = shared_kernel.start("%%torchrun --nproc_per_node 2\nn = big.numel()")

    def being_written() -> bool:
        new = set(shared_kernel.jobs()) - set(before)
        return any(any((jobs / job / "payload").glob("*")) for job in new)

    shared_kernel.pump(being_written, 60, handle.cell)
    shared_kernel.interrupt()
    cell = handle.wait(30)
    assert cell.error is not None, cell.text
    assert cell.error.ename == "KeyboardInterrupt", cell.text
    assert len(cell.error.traceback.splitlines()) == 1, cell.text
    # Whether it was still being packed or had just been started.
    left = [job for job in shared_kernel.jobs() if (jobs / job / "payload").exists()]
    assert left == []
    assert shared_kernel.value("big.numel()") == 300_000_000
    assert shared_kernel.value("'n' in globals()") is False
