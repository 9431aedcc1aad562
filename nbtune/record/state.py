"""The state of a job, read from its folder and from nothing else."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from .events import (
    AttemptStarted,
    JobFinished,
    LauncherStarted,
    RankExited,
    RankStarted,
    RankStopped,
    read_events,
)
from .files import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .events import Event
    from .jobdir import JobDir

__all__ = ["JobState", "Snapshot", "process_start", "read_snapshot"]


class JobState(StrEnum):
    """Where a job is in its life."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    LOST = "LOST"

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen."""
        return self not in {JobState.PENDING, JobState.RUNNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What a folder says at one moment.

    Attributes:
        state: see ``JobState``.
        attempt: number of the newest attempt.
        endpoint: ``host:port`` of the rendezvous, ``""`` before there is one.
        message: a word on the end: the launcher's error, a time-out.
        reason: why the supervisor ended the job: ``"cancel"``, ``"timeout"``,
            ``"kernel"`` (the kernel is gone), or ``""``.
        events: all events so far.
    """

    state: JobState
    attempt: int = 0
    endpoint: str = ""
    message: str = ""
    reason: str = ""
    events: tuple[Event, ...] = ()


def read_snapshot(folder: JobDir) -> Snapshot:
    """Read the state of a job.

    A folder without ``JobFinished`` whose supervisor is gone is ``LOST``,
    unless the supervisor wrote down that it ended the job itself.
    """
    # The order matters: who is alive first, then what it wrote.
    record = read_json(folder.supervisor) or {}
    alive = _alive(record)
    ended = read_json(folder.supervisor) or {}
    events = read_events(folder.events)
    reason = str(ended.get("reason", ""))
    snapshot = _follow(events, reason)
    if snapshot.state.finished or alive:
        return snapshot
    state = JobState.LOST
    if reason == "timeout":
        state = JobState.FAILED
    elif reason:
        state = JobState.CANCELLED
    elif not record:
        state = JobState.PENDING
    return Snapshot(
        state=state,
        attempt=snapshot.attempt,
        endpoint=snapshot.endpoint,
        reason=reason,
        events=snapshot.events,
    )


def _follow(events: Iterable[Event], reason: str) -> Snapshot:
    events = tuple(events)
    state, attempt, endpoint, message = JobState.PENDING, 0, "", ""
    for event in events:
        match event:
            case LauncherStarted():
                state = JobState.PENDING
            case AttemptStarted():
                attempt, endpoint = event.attempt, event.endpoint
            case RankStarted():
                state = JobState.RUNNING
            case RankExited() | RankStopped():
                pass
            case JobFinished():
                state, message = _end(JobState(event.state), reason), event.message
            case _:
                assert_never(event)
    return Snapshot(
        state=state,
        attempt=attempt,
        endpoint=endpoint,
        message=message,
        reason=reason,
        events=events,
    )


def _end(state: JobState, reason: str) -> JobState:
    """The launcher knows how the job ended, the supervisor alone knows why."""
    if state is JobState.SUCCEEDED:
        return state
    if reason in {"cancel", "kernel"}:
        return JobState.CANCELLED
    if reason == "timeout":
        return JobState.FAILED
    return JobState.LOST if state is JobState.CANCELLED else state


def process_start(pid: int) -> str:
    """A mark that tells a process from a later one with the same pid.

    ``starttime`` of ``/proc/<pid>/stat`` (proc(5), field 22); ``""`` where
    there is no such process any more, or no ``/proc``.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return ""
    fields = stat.rsplit(")", 1)[1].split()
    return "" if fields[0] in {"Z", "X"} else fields[19]


def _alive(record: dict[str, object]) -> bool:
    pid = record.get("pid")
    if not isinstance(pid, int) or record.get("host") != socket.gethostname():
        return False
    if Path("/proc/self/stat").exists():
        return process_start(pid) == record.get("start")
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
