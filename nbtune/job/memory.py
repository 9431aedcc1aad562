"""Whether the kernel killed a process for lack of memory, as far as it tells."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from nbtune.record import OUT_OF_MEMORY

__all__ = ["killed_for_memory", "kills_counted", "memory_note"]

_RECORD = re.compile(r"\d+,\d+,(\d+),[^;]*;(.*)")
_NEAR = 60.0  # seconds between a death and its line in the kernel's log
_RECENT = 600.0  # seconds for which a count says something on a death
_MOST = 100_000  # records of a log that keeps growing


def memory_note(pid: int, seconds_ago: float) -> str:
    """What is known of a process that got SIGKILL.

    Args:
        pid: the process, 0 if it is not known.
        seconds_ago: when it ended.
    """
    line = killed_for_memory(_kernel_log(Path("/dev/kmsg")), pid, seconds_ago)
    if line:
        return f"the system ran out of memory (kernel log: {line})"
    count = kills_counted() if seconds_ago < _RECENT else None
    if count is None:
        return OUT_OF_MEMORY
    if count == 0:
        return f"{OUT_OF_MEMORY}, though the kernel has counted no such kill here"
    kills = "1 such kill" if count == 1 else f"{count} such kills"
    return f"{OUT_OF_MEMORY} (the kernel has counted {kills} here so far)"


def killed_for_memory(log: str, pid: int, seconds_ago: float) -> str:
    """The line of the kernel's log that says so, ``""`` if there is none.

    Args:
        log: records of ``/dev/kmsg`` (Documentation/ABI/testing/dev-kmsg).
        pid: the process.
        seconds_ago: when it ended.
    """
    at = time.monotonic() - seconds_ago
    killed = re.compile(rf"Killed process {pid} \(")
    for record in log.splitlines():
        fields = _RECORD.match(record)
        if fields is None or not killed.search(fields[2]):
            continue
        if abs(int(fields[1]) / 1e6 - at) <= _NEAR:
            # The numbers that follow are for the people who read such logs.
            return fields[2].split(")", 1)[0] + ")"
    return ""


def kills_counted(
    proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """Processes of our control group killed for memory; None if it is not told."""
    for line in _read(proc).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            file = root / path.strip("/") / "memory.events"
        elif controllers == "memory":
            file = root / "memory" / path.strip("/") / "memory.oom_control"
        else:
            continue
        count = re.search(r"^oom_kill (\d+)$", _read(file), re.MULTILINE)
        if count:
            return int(count[1])
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _kernel_log(path: Path) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return ""
    records: list[bytes] = []
    try:
        # One record a read; BlockingIOError, an OSError, at the end.
        while len(records) < _MOST and (record := os.read(handle, 8192)):
            records.append(record)
    except OSError:
        pass
    finally:
        os.close(handle)
    return b"".join(records).decode("utf-8", "replace")
