"""The handle on a job, in the manner of ``concurrent.futures``."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from nbtune.errors import JobError
from nbtune.record import (
    Call,
    JobState,
    process_start,
    read_json,
    read_snapshot,
    read_spec,
)

from .outcome import error_of
from .returned import Returned, load_rank

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from nbtune.process import Running
    from nbtune.record import JobDir, LaunchSpec, Snapshot

__all__ = ["Job"]

_LOOK = 0.05  # seconds between looks at a job of another kernel


class Job:
    """One job: a folder, and its processes while this kernel runs it.

    Attributes:
        dir: the job's folder.
        id: its name, unique on this machine.
    """

    def __init__(
        self,
        folder: JobDir,
        *,
        running: Running | None = None,
        namespace: dict[str, object] | None = None,
        classes: Mapping[str, type] | None = None,
    ) -> None:
        self.folder = folder
        self._running = running
        self._ended = False
        self._namespace = namespace if namespace is not None else {}
        self._classes = dict(classes or {})
        self._spec: LaunchSpec | None = None
        self._returned: dict[int, Returned] = {}

    def __repr__(self) -> str:
        name = self.spec.name if self.spec else ""
        label = f"{self.id} {name}".rstrip()
        return f"<nbtune job {label}: {self.state}>"

    @property
    def dir(self) -> Path:
        """The job's folder."""
        return self.folder.root

    @property
    def id(self) -> str:
        """The job's id: the name of its folder."""
        return self.folder.id

    @property
    def spec(self) -> LaunchSpec | None:
        """What was asked for; None if the folder is damaged."""
        if self._spec is None:
            self._spec = read_spec(self.folder.spec)
        return self._spec

    @property
    def running(self) -> Running | None:
        """The job's processes, if this kernel runs them."""
        return self._running

    @property
    def state(self) -> JobState:
        """Where the job is in its life."""
        state = self.snapshot().state
        # Our own job may end before it could write anything down.
        return JobState.LOST if self._ended and not state.finished else state

    def snapshot(self) -> Snapshot:
        """All that the folder says now."""
        return read_snapshot(self.folder)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the job and of all its processes.

        Args:
            timeout: seconds; None waits for as long as it takes.

        Returns:
            Whether the job has ended.
        """
        if self._running is not None:
            ended = self._running.wait(timeout)
            if ended:
                self._running, self._ended = None, True
            return ended
        if self._ended:
            return True
        limit = None if timeout is None else time.monotonic() + timeout
        while not self.state.finished:
            if limit is not None and time.monotonic() >= limit:
                return False
            time.sleep(_LOOK)
        return True

    def exception(self, timeout: float | None = None) -> JobError | None:
        """Wait, then give the error of the job; None if it succeeded.

        Raises:
            TimeoutError: the job still runs after *timeout* seconds.
        """
        if not self.wait(timeout):
            raise TimeoutError(f"job {self.id} still runs after {timeout} s")
        return error_of(self.folder, self.snapshot(), spec=self.spec)

    def result(self, timeout: float | None = None) -> object:
        """Rank 0's return value, or a dict of the names that a cell gives back.

        Raises:
            TimeoutError: the job still runs after *timeout* seconds.
            WorkerError: a rank failed.
            JobError: the job did not succeed for another reason.
        """
        return self._value(0, timeout)

    def results(self, timeout: float | None = None) -> list[object]:
        """As ``result``, for every rank in order."""
        count = self.spec.nproc if self.spec else 0
        return [self._value(rank, timeout) for rank in range(count)]

    def cancel(self) -> bool:
        """Stop all processes of the job: SIGINT, SIGTERM, SIGKILL, 2 s apart.

        Returns at once; ``wait()`` tells when they are gone.

        Returns:
            False if the job has ended already.
        """
        if self.state.finished:
            return False
        if self._running is not None:
            self._running.interrupt("I")
            return True
        record = read_json(self.folder.supervisor) or {}
        pid = record.get("pid")
        if not isinstance(pid, int) or process_start(pid) != record.get("start"):
            return False
        os.kill(pid, signal.SIGTERM)
        return True

    def logs(self, rank: int = 0, stream: str = "stdout") -> str:
        """All that *rank* has written in the newest attempt.

        Args:
            rank: global rank.
            stream: ``"stdout"`` or ``"stderr"``.

        Raises:
            ValueError: there is no such rank or stream.
        """
        attempts = self.folder.attempts()
        if stream not in {"stdout", "stderr"}:
            raise ValueError(f"stream {stream!r}: use 'stdout' or 'stderr'")
        if not attempts or rank not in self.folder.ranks(attempts[-1]):
            raise ValueError(f"job {self.id} has no log of rank {rank}")
        log = self.folder.log(attempts[-1], rank)
        path = log.stdout if stream == "stdout" else log.stderr
        data = path.read_bytes() if path.exists() else b""
        return data.decode("utf-8", "replace")

    def returned(self, rank: int) -> Returned:
        """What came back from *rank*, loaded once."""
        if rank not in self._returned:
            self._returned[rank] = load_rank(
                self.folder, rank, self._namespace, self._classes
            )
        return self._returned[rank]

    def _value(self, rank: int, timeout: float | None) -> object:
        error = self.exception(timeout)
        if error is not None:
            raise error
        returned = self.returned(rank)
        if self.spec is None or not isinstance(self.spec.entry, Call):
            return dict(returned.values)
        if "return" not in returned.values:
            reason = returned.lost.get("return", "its folder is gone")
            raise JobError(f"rank {rank}'s value is not there: {reason}")
        return returned.values["return"]
