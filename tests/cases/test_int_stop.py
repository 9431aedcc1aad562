"""Interrupts: one press, nothing left, the next cell works."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.kernels import Cell, Handle, Kernel, ranks

if TYPE_CHECKING:
    from pathlib import Path

_PAUSE = "import signal; print('up'); signal.pause()"
_WAIT_S = 30  # far above the documented waits of 2 s a step


def _started(kernel: Kernel, source: str, word: str = "up") -> Handle:
    handle = kernel.start(source)
    for rank in 0, 1:
        kernel.wait_for_output(handle, f"[{rank}] {word}")
    return handle


def _stopped(kernel: Kernel, handle: Handle) -> Cell:
    """Press the button once; the cell must end with one short KeyboardInterrupt."""
    kernel.interrupt()
    cell = handle.wait(_WAIT_S)
    assert cell.error is not None, cell.text
    assert cell.error.ename == "KeyboardInterrupt", cell.text
    shown = cell.error.traceback.splitlines()
    assert len(shown) == 1
    assert re.search(r"stopped by you after \d+(\.\d+)? s", shown[0])
    return cell


def _assert_alone(kernel: Kernel) -> None:
    assert [process.pid for process in kernel.processes()] == [kernel.pid]
    assert psutil.Process(kernel.pid).children() == []


def test_int_01_one_press_ends_every_process_of_the_job(shared_kernel: Kernel) -> None:
    handle = _started(
        shared_kernel,
        "%%torchrun --nproc_per_node 2\n"
        "import subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "print('up', os.getpid(), child.pid); time.sleep(600)",
    )
    pids = {
        int(pid)
        for lines in ranks(handle.cell.stdout).values()
        for line in lines
        for pid in re.findall(r"\d+", line)
    }
    assert len(pids) == 4
    _stopped(shared_kernel, handle)
    assert not any(psutil.pid_exists(pid) for pid in pids)
    _assert_alone(shared_kernel)
    assert ranks(
        shared_kernel.ok("%%torchrun --nproc_per_node 2\nprint('next')").stdout
    )


def test_int_01_ranks_that_ignore_every_polite_signal_are_killed(
    shared_kernel: Kernel,
) -> None:
    handle = _started(
        shared_kernel,
        "%%torchrun --nproc_per_node 2\n"
        "import signal, time\n"
        "for number in signal.SIGINT, signal.SIGTERM:\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "print('up'); time.sleep(600)",
    )
    _stopped(shared_kernel, handle)
    _assert_alone(shared_kernel)


def test_int_01_a_second_press_is_no_second_error(shared_kernel: Kernel) -> None:
    handle = _started(
        shared_kernel,
        "%%torchrun --nproc_per_node 2\n"
        "import signal, time\n"
        "def told(*_): print('told', flush=True)\n"
        "for number in signal.SIGINT, signal.SIGTERM: signal.signal(number, told)\n"
        "print('up')\n"
        "while True: time.sleep(600)",
    )
    shared_kernel.interrupt()
    shared_kernel.wait_for_output(handle, "] told")
    _stopped(shared_kernel, handle)
    shared_kernel.ok("1")
    _assert_alone(shared_kernel)


def test_int_01_the_notebook_keeps_its_names(shared_kernel: Kernel) -> None:
    shared_kernel.ok("x = 'before'")
    handle = _started(
        shared_kernel, f"%%torchrun --nproc_per_node 2 --out x\nx = 'after'\n{_PAUSE}"
    )
    _stopped(shared_kernel, handle)
    assert shared_kernel.value("x") == "before"


def test_int_01_a_press_before_the_ranks_run_ends_the_job(
    shared_kernel: Kernel, tmp_path: Path
) -> None:
    # Holds the launcher where a hasty press finds it: while it imports torch.
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys, time\n"
        "class Hold:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'torch':\n"
        "            open(os.environ['HOLD'], 'w').close(); time.sleep(600)\n"
        "sys.meta_path.insert(0, Hold())"
    )
    reached = tmp_path / "reached"
    shared_kernel.ok("path = os.environ['PYTHONPATH']")
    shared_kernel.ok(
        f"os.environ.update(PYTHONPATH={str(tmp_path)!r} + os.pathsep + path,"
        f" HOLD={str(reached)!r})"
    )
    try:
        handle = shared_kernel.start("%%torchrun --nproc_per_node 2\nx = 1")
        shared_kernel.pump(reached.exists, 30, handle.cell)
        _stopped(shared_kernel, handle)
    finally:
        shared_kernel.ok("os.environ['PYTHONPATH'] = path; del os.environ['HOLD']")
    _assert_alone(shared_kernel)


def test_int_09_only_one_line_is_shown(shared_kernel: Kernel) -> None:
    handle = _started(
        shared_kernel,
        "%%torchrun --nproc_per_node 2\n"
        "import time; dist.init_process_group('gloo'); print('up'); time.sleep(600)",
    )
    cell = _stopped(shared_kernel, handle)
    assert ranks(cell.stdout) == {0: ["up"], 1: ["up"]}
    assert cell.stderr == ""


def test_err_16_a_rank_that_never_arrives_can_be_stopped(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("import time")
    handle = _started(
        shared_kernel,
        "%%torchrun --nproc_per_node 2\n"
        'dist.init_process_group("gloo"); print("up")\n'
        "if os.environ['RANK'] == '0': dist.barrier()\n"
        "else: time.sleep(600)",
    )
    _stopped(shared_kernel, handle)
    _assert_alone(shared_kernel)


def test_int_11_a_success_leaves_nothing_in_the_temp_folder(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("%%torchrun --nproc_per_node 2\nx = 1")
    temp, shm = set(os.listdir(shared_kernel.temp)), set(os.listdir("/dev/shm"))
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --tee 3 --redirects 3\n"
        'dist.init_process_group("gloo"); dist.barrier(); print("x")'
    )
    assert ranks(cell.stdout) == {0: ["x"], 1: ["x"]}
    assert set(os.listdir(shared_kernel.temp)) == temp
    new = set(os.listdir("/dev/shm")) - shm
    assert not [name for name in new if name.startswith("nbtune")]
    payload = shared_kernel.home / "jobs" / shared_kernel.jobs()[-1] / "payload"
    assert not payload.exists()


@pytest.mark.parametrize("end", ["1 / 0", "os._exit(1)"])
def test_int_11_a_failure_leaves_nothing_in_the_temp_folder(
    shared_kernel: Kernel, end: str
) -> None:
    shared_kernel.ok("%%torchrun --nproc_per_node 1\nx = 1")
    temp = set(os.listdir(shared_kernel.temp))
    shared_kernel.run(f"%%torchrun --nproc_per_node 2\n{end}")
    assert set(os.listdir(shared_kernel.temp)) == temp
