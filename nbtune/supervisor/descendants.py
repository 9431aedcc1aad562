"""The processes below this one: found in ``/proc``, signalled, swept."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nbtune.record import process_start

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "SWEEP_WAIT",
    "TIDY_WAIT",
    "Process",
    "descendants",
    "end",
    "open_pidfd",
    "send",
    "sweep",
]

SWEEP_WAIT = 10.0
"""Seconds after which a sweep gives up on what even SIGKILL does not end."""

TIDY_WAIT = 1.0
"""Seconds that processes which remove what others left behind are given for it."""

_PAUSE = 0.01
_TIDIERS = (b"multiprocessing.resource_tracker", b"torch_shm_manager")


@dataclass(frozen=True, slots=True)
class Process:
    """A process, told from a later one with the same pid by its start."""

    pid: int
    start: str


def descendants(root: int) -> list[Process]:
    """All living processes below *root*, parents first; none without ``/proc``.

    A process whose parent ends while ``/proc`` is read can be missed; the next
    call finds it.
    """
    children = _children()
    found: list[Process] = []
    parents = [root]
    while parents:
        below = children.pop(parents.pop(0), [])
        found += [process for process in below if process.start]
        parents += [process.pid for process in below]
    return found


def _children() -> dict[int, list[Process]]:
    children: dict[int, list[Process]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return children
    for name in names:
        if not name.isdigit():
            continue
        try:
            stat = Path(f"/proc/{name}/stat").read_text("ascii", "replace")
        except OSError:
            continue
        # proc(5): state, ppid, ..., starttime; the name before them is free text
        state, parent, *fields = stat.rsplit(")", 1)[1].split()
        start = "" if state in {"Z", "X"} else fields[17]
        children.setdefault(int(parent), []).append(Process(int(name), start))
    return children


def send(process: Process, number: int) -> None:
    """Signal *process*, never another one that got its pid meanwhile.

    A process that is gone or belongs to another user is left alone.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        handle = open_pidfd(process.pid)
        try:
            if process_start(process.pid) != process.start:
                return
            if handle is None:
                os.kill(process.pid, number)
            else:
                signal.pidfd_send_signal(handle, number)
        finally:
            if handle is not None:
                os.close(handle)


def open_pidfd(pid: int) -> int | None:
    """Open a descriptor of a process; None where the system has no such thing.

    Raises:
        ProcessLookupError: there is no process *pid*.
    """
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (OSError, AttributeError):
        return None


def end(process: Process, number: int, *, tidiers: bool) -> None:
    """Signal *process*; only with *tidiers* if it removes what others left."""
    if tidiers or not _tidies(process.pid):
        send(process, number)


def _tidies(pid: int) -> bool:
    """Whether a process removes shared memory that killed processes left.

    It ends by itself as soon as those that it serves are gone.
    """
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return any(name in command for name in _TIDIERS)


def sweep(reap: Callable[[], bool]) -> list[int]:
    """SIGKILL and reap all that is left below this process.

    That *reap* finds no child is the proof that nothing is left: orphans below
    a subreaper become its children.

    Args:
        reap: collects the children that ended; False when none is left.

    Returns:
        The pids that did not end within ``SWEEP_WAIT``.
    """
    begin = time.monotonic()
    while reap():
        elapsed = time.monotonic() - begin
        left = descendants(os.getpid())
        if elapsed > SWEEP_WAIT:
            return [process.pid for process in left]
        for process in left:
            end(process, signal.SIGKILL, tidiers=elapsed > TIDY_WAIT)
        time.sleep(_PAUSE)
    return []
