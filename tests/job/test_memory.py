"""Whether the kernel killed a process for lack of memory."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nbtune.job.memory import killed_for_memory, kills_counted, memory_note


def record(pid: int, at: float) -> str:
    text = f"Memory cgroup out of memory: Killed process {pid} (python3) total-vm:9kB"
    return f"3,1042,{int(at * 1e6)},-;{text}\n SUBSYSTEM=x\n"


def test_the_line_of_the_kernel_log_is_found():
    log = "6,1,5,-;booted\n" + record(4711, time.monotonic() - 2)
    line = killed_for_memory(log, 4711, 2.0)
    assert line == "Memory cgroup out of memory: Killed process 4711 (python3)"


def test_a_line_on_another_process_or_time_is_not_it():
    log = record(471, time.monotonic()) + record(4711, time.monotonic() - 500)
    assert killed_for_memory(log, 4711, 0.0) == ""


@pytest.mark.parametrize(
    ("table", "file"),
    [
        ("0::/box/one\n", "box/one/memory.events"),
        ("4:memory:/box\n0::/\n", "memory/box/memory.oom_control"),
    ],
)
def test_the_control_groups_own_count_is_read(tmp_path: Path, table: str, file: str):
    (tmp_path / "cgroup").write_text(table)
    path = tmp_path / "fs" / file
    path.parent.mkdir(parents=True)
    path.write_text("oom 4\noom_kill 3\n")
    assert kills_counted(tmp_path / "cgroup", tmp_path / "fs") == 3


def test_no_count_is_no_answer(tmp_path: Path):
    assert kills_counted(tmp_path / "none", tmp_path) is None


def test_there_is_always_a_note():
    assert "ran out of memory" in memory_note(0, 0.0)
    assert memory_note(0, 1e6) == "often the system ran out of memory"
