"""Watching the ranks: who started, who ended, when, and with what status.

torch's agent reports one failed rank, the lowest of those that died within one
of its looks, with whole seconds. A thread of the launcher waits on a descriptor
for each rank instead, which tells the end of every one in order.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtune.record import (
    AttemptStarted,
    RankExited,
    RankStarted,
    RankStopped,
    read_json,
)

if TYPE_CHECKING:
    from nbtune.record import JobDir

    from .journal import Journal

__all__ = ["GRACE", "Monitor"]

GRACE = 5.0
"""Seconds that the other ranks get to end after one has failed."""
_LOOK = 0.005  # seconds between looks for ranks that have not reported yet


@dataclass(slots=True)
class _Watched:
    rank: int
    pid: int
    pidfd: int


class Monitor:
    """Writes what happens to the ranks into the journal.

    Args:
        folder: the job's folder, where each rank reports its pid.
        journal: where the events go.

    Attributes:
        left: ranks that ended with exit code 0 in the midst of their code, which
            torch's agent would wait for without end.
    """

    def __init__(self, folder: JobDir, journal: Journal) -> None:
        self._folder = folder
        self._journal = journal
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._main = threading.get_ident()
        self.left: list[int] = []

    def attempt_starts(self, envs: dict[int, dict[str, str]]) -> None:
        """Begin with a new attempt; called just before its ranks start."""
        self.join()
        first = envs[0]
        attempt = int(first["TORCHELASTIC_RESTART_COUNT"])
        endpoint = f"{first['MASTER_ADDR']}:{first['MASTER_PORT']}"
        now = time.time_ns()
        self._journal.write(
            AttemptStarted(time_ns=now, attempt=attempt, endpoint=endpoint)
        )
        ranks = {int(env["RANK"]) for env in envs.values()}
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, args=(attempt, ranks, self._stop), daemon=True
        )
        self._thread.start()

    def join(self) -> None:
        """Wait until the end of every rank that started is written down."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _watch(self, attempt: int, waiting: set[int], stop: threading.Event) -> None:
        watched: list[_Watched] = []
        failed_at: float | None = None
        while (waiting and not stop.is_set()) or watched:
            watched += self._started(attempt, waiting)
            for one in _ended(watched, _LOOK if waiting else 0.1):
                watched.remove(one)
                if self._exited(attempt, one) and failed_at is None:
                    failed_at = time.monotonic()
            if failed_at is not None and time.monotonic() - failed_at > GRACE:
                self._end(attempt, watched)
                failed_at = None

    def _started(self, attempt: int, waiting: set[int]) -> list[_Watched]:
        found = []
        for rank in sorted(waiting):
            status = read_json(self._folder.status(rank))
            if status is None or status.get("attempt") != attempt:
                continue
            pid = status["pid"]
            assert isinstance(pid, int)  # noqa: S101 - our own rank wrote it
            waiting.discard(rank)
            now = time.time_ns()
            self._journal.write(
                RankStarted(time_ns=now, attempt=attempt, rank=rank, pid=pid)
            )
            try:
                found.append(_Watched(rank, pid, os.pidfd_open(pid)))
            except ProcessLookupError:
                continue  # ended and reaped already: the agent reports it
        return found

    def _exited(self, attempt: int, one: _Watched) -> bool:
        """Write down an end; whether it is a bad one."""
        now, code = time.time_ns(), _exitcode(one.pidfd)
        os.close(one.pidfd)
        finished = self._finished(attempt, one.rank)
        if code is None:
            # The agent, which reaps at once what it stops itself, was faster.
            if not finished:
                self._stopped(attempt, one.rank, signal.SIGTERM)
            return not finished
        self._journal.write(
            RankExited(time_ns=now, attempt=attempt, rank=one.rank, exitcode=code)
        )
        if code == 0 and not finished:
            self.left.append(one.rank)
            signal.pthread_kill(self._main, signal.SIGTERM)
        return code != 0

    def _finished(self, attempt: int, rank: int) -> bool:
        status = read_json(self._folder.status(rank)) or {}
        return status.get("state") == "finished" and status.get("attempt") == attempt

    def _stopped(self, attempt: int, rank: int, number: int) -> None:
        now = time.time_ns()
        self._journal.write(
            RankStopped(time_ns=now, attempt=attempt, rank=rank, signal=number)
        )

    def _end(self, attempt: int, watched: list[_Watched]) -> None:
        for one in watched:
            self._stopped(attempt, one.rank, signal.SIGKILL)
            signal.pidfd_send_signal(one.pidfd, signal.SIGKILL)


def _ended(watched: list[_Watched], timeout: float) -> list[_Watched]:
    poll = select.poll()
    for one in watched:
        poll.register(one.pidfd, select.POLLIN)
    ready = {fd for fd, _ in poll.poll(timeout * 1000)}
    return [one for one in watched if one.pidfd in ready]


def _exitcode(pidfd: int) -> int | None:
    # WNOWAIT leaves the process for torch to reap (waitid(2)).
    try:
        end = os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return None  # reaped already: the agent's own report has the status
    if end is None:
        return None
    return end.si_status if end.si_code == os.CLD_EXITED else -end.si_status
