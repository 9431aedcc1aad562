"""Several jobs: packing one changes nothing that another one would see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kernels import Kernel

if TYPE_CHECKING:
    from pathlib import Path

# Everything global that launching or packing might be tempted to change.
_LOOK = """
import cloudpickle, copyreg, faulthandler, linecache, locale, logging, pickle, signal
import sys, threading, warnings
def look():
    return {
        "by value": sorted(cloudpickle.list_registry_pickle_by_value()),
        "copyreg": sorted(map(str, copyreg.dispatch_table)),
        "cloudpickle": sorted(map(str, cloudpickle.CloudPickler.dispatch_table)),
        "recursion": sys.getrecursionlimit(),
        "signals": [str(signal.getsignal(n)) for n in signal.valid_signals()],
        "environ": dict(os.environ),
        "threads": sorted(t.name for t in threading.enumerate()),
        "path": list(sys.path),
        "hooks": [str(sys.excepthook), str(sys.stdout), str(threading.excepthook)],
        "filters": [str(f) for f in warnings.filters],
        "logging": (logging.root.level, str(logging.root.handlers)),
        "main": sys.modules["__main__"].__name__,
        "group": dist.is_initialized(),
        "torch threads": torch.get_num_threads(),
        "cwd": os.getcwd(),
        "umask": [os.umask(0o77), os.umask(0o22)][0],
    }
class Mine: pass
"""


@pytest.fixture
def watched(shared_kernel: Kernel) -> Kernel:
    shared_kernel.ok(_LOOK)
    # The first job reads torchrun's options and imports what every job needs.
    shared_kernel.ok("%%torchrun --nproc_per_node 1\nx = 1")
    shared_kernel.ok("before = look()")
    return shared_kernel


def _changes(kernel: Kernel) -> dict[str, object]:
    # In a cell again: between cells IPython has other hooks.
    kernel.ok("after = look()")
    return kernel.value(
        "{k: (before[k], v) for k, v in after.items() if v != before[k]}"
    )


def test_mj_03_nothing_global_changes_by_a_job(watched: Kernel) -> None:
    watched.ok(
        "%%torchrun --nproc_per_node 2 --out mine\n"
        "dist.init_process_group('gloo'); dist.barrier(); mine = [Mine(), Mine]"
    )
    assert _changes(watched) == {}


def test_mj_03_nothing_global_changes_by_a_refusal(watched: Kernel) -> None:
    watched.ok("lock = threading.Lock()")
    watched.refused("%%torchrun --nproc_per_node 2\nprint(Mine, lock)")
    assert _changes(watched) == {}


def test_mj_03_nothing_global_changes_by_a_failure(watched: Kernel) -> None:
    assert watched.run("%%torchrun --nproc_per_node 2\nMine().x").error
    assert _changes(watched) == {}


def test_mj_03_nothing_global_changes_by_an_interrupt(
    watched: Kernel, tmp_path: Path
) -> None:
    reached = tmp_path / "reached"
    watched.ok(
        "import time\n"
        "class Slow:\n"
        "    def __getstate__(self):\n"
        f"        open({str(reached)!r}, 'w').close(); time.sleep(600)\n"
        "slow = Slow()"
    )
    handle = watched.start("%%torchrun --nproc_per_node 2\nprint(Mine, slow)")
    watched.pump(lambda: reached.exists() or handle.cell.done, 60, handle.cell)
    watched.interrupt()
    cell = handle.wait()
    assert cell.error is not None
    assert cell.error.ename == "KeyboardInterrupt", cell.text
    assert _changes(watched) == {}
