"""The end of a job as an error: who failed, or what became of the job itself."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import socket
import time
from typing import TYPE_CHECKING

from nbtune.errors import (
    JobCancelledError,
    JobLostError,
    JobTimeoutError,
    LaunchError,
    WorkerError,
)
from nbtune.record import (
    JobState,
    RankStarted,
    death_words,
    judge,
    read_failures,
    read_json,
)

from .launch_failure import launcher_line
from .memory import memory_note
from .report import failure_lines, report, what_failed
from .wording import printable, ranks

if TYPE_CHECKING:
    from nbtune.errors import JobError
    from nbtune.record import JobDir, LaunchSpec, Snapshot, WorkerFailure

__all__ = ["error_of"]

_SIGNALLED = re.compile(r"got signal: (\d+)")


def error_of(
    folder: JobDir, snapshot: Snapshot, *, spec: LaunchSpec | None
) -> JobError | None:
    """The error of a job that has ended; None if it succeeded.

    Args:
        folder: the job.
        snapshot: its last state.
        spec: what was asked for, None if that is not readable.
    """
    if snapshot.state is JobState.SUCCEEDED:
        return None
    return _error(folder, snapshot, spec)


def _error(folder: JobDir, snapshot: Snapshot, spec: LaunchSpec | None) -> JobError:
    failures = [
        _sound(folder, failure)
        for failure in read_failures(folder, snapshot.attempt, snapshot.events)
    ]
    if snapshot.reason == "timeout":
        return _timeout(folder, failures, spec)
    if snapshot.state is JobState.CANCELLED or snapshot.reason:
        return _cancelled(folder, snapshot.reason, failures)
    if snapshot.state is JobState.LOST:
        return _lost(folder, snapshot, failures)
    if snapshot.state is JobState.FAILED and failures and not snapshot.message:
        return _failed(folder, snapshot, failures, spec)
    return _not_launched(folder, snapshot, failures)


def _sound(folder: JobDir, failure: WorkerFailure) -> WorkerFailure:
    """With text that every stream can encode, and torch's record if there is one."""
    record = folder.log(failure.attempt, failure.rank).error
    found = os.fspath(record) if record.exists() else ""
    return dataclasses.replace(
        failure,
        exception=_encodable(failure.exception),
        message=_encodable(failure.message),
        traceback=_encodable(failure.traceback),
        error_file=failure.error_file or found,
    )


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _failed(
    folder: JobDir,
    snapshot: Snapshot,
    failures: list[WorkerFailure],
    spec: LaunchSpec | None,
) -> JobError:
    verdict = judge(failures)
    assert verdict is not None  # noqa: S101 - there is a failure
    root = verdict.root
    if root.signal == signal.SIGKILL.name and not root.exception:
        root = _with_memory_note(root, snapshot)
        verdict = dataclasses.replace(verdict, root=root)
    others = (*verdict.same, *verdict.others, *verdict.consequences)
    return WorkerError(
        root,
        sorted(others, key=lambda failure: failure.rank),
        report(folder, verdict, spec),
        folder.id,
    )


def _with_memory_note(root: WorkerFailure, snapshot: Snapshot) -> WorkerFailure:
    pids = [
        event.pid
        for event in snapshot.events
        if isinstance(event, RankStarted)
        and (event.attempt, event.rank) == (root.attempt, root.rank)
    ]
    seconds_ago = (time.time_ns() - root.time_ns) / 1e9
    return dataclasses.replace(
        root, note=memory_note(pids[-1] if pids else 0, seconds_ago)
    )


def _timeout(
    folder: JobDir, failures: list[WorkerFailure], spec: LaunchSpec | None
) -> JobError:
    limit = spec.timeout if spec else None
    option = "its --timeout" if limit is None else f"--timeout {limit:g} s"
    message = f"the job ran longer than {option} and was ended"
    lines = [f"JobTimeoutError: {message}", *_before(failures)]
    # The supervisor's first step is SIGINT, which shows where each rank was.
    places: dict[str, list[WorkerFailure]] = {}
    for failure in failures:
        if failure.exception == "KeyboardInterrupt" and failure.traceback:
            places.setdefault(failure.plain_traceback, []).append(failure)
    for group in places.values():
        verb = "were" if group[1:] else "was"
        lines.append(f"{ranks(failure.rank for failure in group)} {verb} here:")
        lines += failure_lines(folder, group[0])
    return JobTimeoutError(message, lines, folder.id)


def _cancelled(folder: JobDir, reason: str, failures: list[WorkerFailure]) -> JobError:
    message = "the job was stopped before its end"
    if reason == "kernel":
        message = "the job was ended because the kernel that started it is gone"
    lines = [f"JobCancelledError: {message}", *_before(failures)]
    return JobCancelledError(message, lines, folder.id)


def _lost(
    folder: JobDir, snapshot: Snapshot, failures: list[WorkerFailure]
) -> JobError:
    record = read_json(folder.supervisor) or {}
    exitcode, host = record.get("launcher_exit"), record.get("host")
    signalled = _SIGNALLED.search(snapshot.message)
    if signalled:
        exitcode = -int(signalled[1])
    if isinstance(exitcode, int) and exitcode >= 0:
        return _not_launched(folder, snapshot, failures)
    if isinstance(exitcode, int):
        message = f"the launcher {death_words(exitcode)}"
    elif host != socket.gethostname():
        message = f"the job belongs to the machine {host}; its end cannot be seen here"
    else:
        message = "the job's supervisor was killed, so that nobody saw its end"
    lines = [f"JobLostError: {message}", *_before(failures)]
    return JobLostError(message, lines, folder.id)


def _not_launched(
    folder: JobDir, snapshot: Snapshot, failures: list[WorkerFailure]
) -> JobError:
    message = f"the launcher failed: {launcher_line(folder, snapshot.message)}"
    lines = [f"LaunchError: {message}", *_before(failures)]
    if folder.launcher_log.exists():
        lines.append(f"Its log: {folder.launcher_log}")
    return LaunchError(message, lines, folder.id)


def _before(failures: list[WorkerFailure]) -> list[str]:
    """A line for each rank that had failed on its own account before the end."""
    return [
        printable(f"Before that, rank {failure.rank} {what_failed(failure)}")
        for failure in failures
        if failure.exception not in {"", "KeyboardInterrupt"}
        and not (failure.collective or failure.stopped)
    ]
