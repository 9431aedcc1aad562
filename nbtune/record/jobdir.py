"""The one place that knows where a job keeps its files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["JobDir", "RankLog"]


@dataclass(frozen=True, slots=True)
class RankLog:
    """What one rank leaves of one attempt, written by torch and by the rank."""

    root: Path

    @property
    def stdout(self) -> Path:
        """All that the rank wrote to file descriptor 1."""
        return self.root / "stdout.log"

    @property
    def stderr(self) -> Path:
        """All that the rank wrote to file descriptor 2."""
        return self.root / "stderr.log"

    @property
    def crash(self) -> Path:
        """What faulthandler wrote when a signal such as SIGSEGV ended the rank."""
        return self.root / "crash.log"

    @property
    def error(self) -> Path:
        """What torch recorded of the rank's failure, in torch's format."""
        return self.root / "error.json"

    @property
    def failure(self) -> Path:
        """Our record of it: nanoseconds, kind, the rendered traceback."""
        return self.root / "failure.json"


@dataclass(frozen=True, slots=True)
class JobDir:
    """A job is a folder; each file in it has one writer (see the design)."""

    root: Path

    @property
    def id(self) -> str:
        """The job's id is its folder's name."""
        return self.root.name

    @property
    def spec(self) -> Path:
        """What to run; written by the kernel before the start."""
        return self.root / "spec.json"

    @property
    def payload(self) -> Path:
        """The folder with the values that travel to the ranks."""
        return self.root / "payload"

    @property
    def launcher_log(self) -> Path:
        """stdout, stderr and logging of supervisor and launcher."""
        return self.root / "launcher.log"

    @property
    def events(self) -> Path:
        """The launcher's events, one JSON object a line."""
        return self.root / "events.jsonl"

    @property
    def error(self) -> Path:
        """What torch recorded as the root cause, written through ``@record``."""
        return self.root / "error.json"

    @property
    def supervisor(self) -> Path:
        """Who supervises the job, and how its launcher ended."""
        return self.root / "supervisor.json"

    @property
    def logs(self) -> Path:
        """Parent of the attempts; a link when the user named a ``--log-dir``."""
        return self.root / "logs"

    def log(self, attempt: int, rank: int) -> RankLog:
        """The files of one rank of one attempt."""
        return RankLog(self.logs / str(attempt) / str(rank))

    def rank(self, rank: int) -> Path:
        """The folder that *rank* alone writes."""
        return self.root / "ranks" / str(rank)

    def status(self, rank: int) -> Path:
        """How far the rank's own code came."""
        return self.rank(rank) / "status.json"

    def results(self, rank: int) -> Path:
        """The folder with the values that come back from *rank*."""
        return self.rank(rank) / "results"

    def attempts(self) -> list[int]:
        """The attempts that left logs, in order."""
        try:
            names = os.listdir(self.logs)
        except OSError:
            return []
        return sorted(int(name) for name in names if name.isdigit())

    def ranks(self, attempt: int) -> list[int]:
        """The ranks that left logs in *attempt*, in order."""
        try:
            names = os.listdir(self.logs / str(attempt))
        except OSError:
            return []
        return sorted(int(name) for name in names if name.isdigit())
