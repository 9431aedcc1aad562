"""A job that this process started: its lifeline and the sight of its end."""

from __future__ import annotations

import contextlib
import math
import os
import select
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

__all__ = ["STEPS", "Running"]

STEPS = ("I", "T", "K")
"""The letters that ``Running.interrupt`` takes, from polite to final."""


class Running:
    """Everything that a kernel holds of a running job: a child and two pipes.

    Safe to use from several threads.

    Args:
        supervisor: the child that supervises the job.
        lifeline: write end of the pipe whose closing ends the job.
        done: read end of the pipe that becomes readable when the job has ended.
        ends: closes both pipes.

    Attributes:
        pid: the supervisor's pid.
    """

    def __init__(
        self,
        supervisor: subprocess.Popen[bytes],
        *,
        lifeline: int,
        done: int,
        ends: contextlib.ExitStack,
    ) -> None:
        self.pid = supervisor.pid
        self._supervisor = supervisor
        self._lifeline = lifeline
        self._done = done
        self._ends = ends
        # Closing must not overtake a write: the number might be another file's.
        # Reentrant, because a signal handler may stop the job it interrupted.
        self._lock = threading.RLock()

    def fileno(self) -> int:
        """A descriptor that is readable when the job has ended, for ``select``.

        Returns:
            -1 once ``wait`` has returned True.
        """
        return self._done

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of every process of the job.

        Args:
            timeout: seconds; None to wait as long as it takes.

        Returns:
            True when all have ended and are reaped; False if *timeout* passed.
        """
        if not self._wait_for_end(timeout):
            return False
        with self._lock:
            if self._done != -1:
                self._supervisor.wait()
                self._done = self._lifeline = -1
                self._ends.close()
        return True

    def interrupt(self, step: str) -> None:
        """End the job, beginning at *step*; harmless after its end.

        Args:
            step: ``"I"`` for SIGINT, and after short waits SIGTERM and SIGKILL;
                ``"T"`` and ``"K"`` jump to the latter at once.

        Raises:
            ValueError: *step* is none of these.
        """
        if step not in STEPS:
            raise ValueError(f"step {step!r} is none of {', '.join(STEPS)}")
        # Asked first, since a write without a reader raises SIGPIPE, which a
        # program may have set to kill it.
        if self.wait(0):
            return
        with self._lock, contextlib.suppress(BrokenPipeError, BlockingIOError):
            if self._lifeline != -1:
                os.write(self._lifeline, step.encode("ascii"))

    def kill(self) -> None:
        """End the supervisor itself with SIGKILL, and the job with it.

        For a supervisor that no longer answers. The launcher and the ranks end
        by their parent-death signals; nobody writes down how the job ended.
        """
        with self._lock:
            if self._done != -1:
                self._supervisor.kill()

    def _wait_for_end(self, timeout: float | None) -> bool:
        with self._lock:
            if self._done == -1:
                return True
            # its own copy: another thread may close the descriptor meanwhile
            done = os.dup(self._done)
        try:
            poll = select.poll()
            poll.register(done, select.POLLIN)
            limit = None if timeout is None else math.ceil(max(timeout, 0.0) * 1000)
            return bool(poll.poll(limit))
        finally:
            os.close(done)
