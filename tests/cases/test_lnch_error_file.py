"""Launching: the ``TORCHELASTIC_ERROR_FILE`` of the kernel."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from nbtune.record import JobDir, LauncherStarted, read_events
from tests.kernels import Kernel

_NAME = "TORCHELASTIC_ERROR_FILE"


@pytest.fixture
def error_file(shared_kernel: Kernel, tmp_path: Path) -> Path:
    """The file that the kernel's environment names; jobs may fill it."""
    path = tmp_path / "error of the job.json"
    shared_kernel.ok(f"os.environ[{_NAME!r}] = {str(path)!r}")
    return path


def _record(path: Path) -> dict[str, Any]:
    """What torch's own readers need of the record."""
    message = json.loads(path.read_text())["message"]
    assert isinstance(message["message"], str)
    assert set(message["extraInfo"]) >= {"py_callstack", "timestamp"}
    assert int(message["extraInfo"]["timestamp"]) > 0
    return message


def _newest(kernel: Kernel) -> JobDir:
    return JobDir(kernel.home / "jobs" / kernel.jobs()[-1])


def test_lnch_error_file_gets_the_exception_of_the_rank(
    shared_kernel: Kernel, error_file: Path
) -> None:
    shared_kernel.run(
        "%%torchrun --nproc_per_node 2\n"
        "dist.init_process_group('gloo')\n"
        "if os.environ['RANK'] == '1': raise ValueError('the cause')\n"
        "dist.barrier()"
    )
    record = _record(error_file)
    assert record["message"] == "ValueError: the cause"
    assert "line 3" in record["extraInfo"]["py_callstack"]


def test_lnch_error_file_gets_an_exit_of_the_rank(
    shared_kernel: Kernel, error_file: Path
) -> None:
    shared_kernel.run("%%torchrun --nproc_per_node 2\nimport sys; sys.exit(3)")
    assert re.search(r"SystemExit.*3", _record(error_file)["message"])


def test_lnch_error_file_gets_the_death_of_a_rank(
    shared_kernel: Kernel, error_file: Path
) -> None:
    shared_kernel.run(
        "%%torchrun --nproc_per_node 2\n"
        "import signal\n"
        "if os.environ['RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
        "signal.pause()"
    )
    assert re.search(r"rank 1 .*SIGKILL", _record(error_file)["message"])


def test_lnch_error_file_gets_an_interrupt_with_the_launchers_call_stack(
    shared_kernel: Kernel, error_file: Path
) -> None:
    handle = shared_kernel.start(
        "%%torchrun --nproc_per_node 2\nimport signal; print('up'); signal.pause()"
    )
    for rank in 0, 1:
        shared_kernel.wait_for_output(handle, f"[{rank}] up")
    launchers = _launchers(_newest(shared_kernel))
    shared_kernel.interrupt()
    handle.wait()
    record = _record(error_file)
    assert f"SignalException: Process {launchers[0]} got signal: 2" in record["message"]
    assert "Traceback" in record["extraInfo"]["py_callstack"]


def test_lnch_error_file_gets_the_end_of_a_killed_launcher(
    shared_kernel: Kernel, error_file: Path
) -> None:
    handle = shared_kernel.start(
        "%%torchrun --nproc_per_node 2\nimport signal; print('up'); signal.pause()"
    )
    for rank in 0, 1:
        shared_kernel.wait_for_output(handle, f"[{rank}] up")
    (launcher,) = _launchers(_newest(shared_kernel))
    os.kill(launcher, signal.SIGKILL)
    cell = handle.wait()
    assert cell.error is not None
    assert "launcher" in cell.error.traceback
    assert (
        f"SignalException: Process {launcher} got signal: 9"
        in _record(error_file)["message"]
    )
    assert not psutil.Process(shared_kernel.pid).children()


def test_lnch_error_file_gets_an_error_of_the_launcher(
    shared_kernel: Kernel, error_file: Path
) -> None:
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint "
        "127.0.0.1:0 --rdzv_conf store_type=nosuch\nx = 1"
    )
    assert cell.error is not None
    assert "store type" in _record(error_file)["message"]


def test_lnch_error_file_is_not_made_by_a_success(
    shared_kernel: Kernel, error_file: Path
) -> None:
    shared_kernel.ok("%%torchrun --nproc_per_node 2\nx = 1")
    assert not error_file.exists()


def test_lnch_error_file_may_be_named_for_one_job(
    shared_kernel: Kernel, tmp_path: Path
) -> None:
    shared_kernel.ok(f"os.environ.pop({_NAME!r}, None)")
    shared_kernel.run(f"%%torchrun --nproc_per_node 2 --env {_NAME}=own.json\n1 / 0")
    message = _record(tmp_path / "own.json")["message"]
    assert message.startswith("ZeroDivisionError")
    assert shared_kernel.value(f"{_NAME!r} in os.environ") is False


def test_lnch_error_file_is_the_launchers_alone(
    shared_kernel: Kernel, error_file: Path
) -> None:
    cell = shared_kernel.ok(
        f"%%torchrun --nproc_per_node 2\nprint(os.environ[{_NAME!r}])"
    )
    assert str(error_file) not in cell.stdout


def _launchers(folder: JobDir) -> list[int]:
    events = read_events(folder.events)
    return [event.pid for event in events if isinstance(event, LauncherStarted)]
