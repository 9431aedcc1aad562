"""A job's folder, written by hand."""

from __future__ import annotations

import dataclasses
import socket
import time
from typing import TYPE_CHECKING

from nbtune.errors import (
    JobError,
)
from nbtune.job.outcome import error_of
from nbtune.record import (
    AttemptStarted,
    Cell,
    JobDir,
    JobFinished,
    LauncherStarted,
    LaunchSpec,
    RankExited,
    RankStarted,
    WorkerFailure,
    encode,
    read_snapshot,
    write_failure,
    write_json,
)

if TYPE_CHECKING:
    from pathlib import Path

TRACEBACK = """\
-----------------------------------------------------------------------
KeyError                              Traceback (most recent call last)
Cell In[3], line 4
      2 def inner(d): return d["lr"]
      3 x = 1
----> 4 inner({})

Cell In[3], line 2, in inner(d)
----> 2 def inner(d): return d["lr"]

KeyError: 'lr'"""


class Folder:
    """A job whose events and records a test writes."""

    def __init__(self, root: Path) -> None:
        self.dir = JobDir(root)
        root.mkdir()
        self.spec = LaunchSpec(
            entry=Cell(source="# magic\nimport ctypes\ncrash()\n", execution_count=3),
            argv=(),
            nproc=2,
            name="fit",
            timeout=3.0,
        )
        self.time = time.time_ns()

    def event(self, kind: type, **fields: object) -> None:
        self.time += 1_000_000
        event = kind(time_ns=self.time, **fields)
        with self.dir.events.open("ab") as stream:
            stream.write(encode(event))

    def start(self, ranks: int = 2, attempt: int = 0) -> None:
        self.event(LauncherStarted, pid=1)
        self.event(AttemptStarted, attempt=attempt, endpoint="127.0.0.1:1")
        for rank in range(ranks):
            self.dir.log(attempt, rank).root.mkdir(parents=True)
            self.event(RankStarted, attempt=attempt, rank=rank, pid=10 + rank)

    def fail(self, rank: int, exception: str, message: str, **fields: object) -> None:
        self.time += 1_000_000
        fields.setdefault("traceback", f"{exception}\n frames\n{exception}: {message}")
        failure = WorkerFailure(
            rank=rank, local_rank=rank, attempt=0, time_ns=self.time
        )
        failure = dataclasses.replace(
            failure, exception=exception, message=message, exitcode=1, **fields
        )
        write_failure(self.dir.log(0, rank).failure, failure)

    def exit(self, rank: int, exitcode: int) -> None:
        self.event(RankExited, attempt=0, rank=rank, exitcode=exitcode)

    def finish(self, state: str = "FAILED", message: str = "") -> None:
        self.event(JobFinished, state=state, message=message)

    def supervisor(self, **fields: object) -> None:
        record = {"pid": 1, "start": "gone", "host": socket.gethostname(), "reason": ""}
        record |= {"launcher_exit": None, "ended": True}
        write_json(self.dir.supervisor, record | fields)

    def error(self) -> JobError:
        error = error_of(self.dir, read_snapshot(self.dir), spec=self.spec)
        assert error is not None
        return error

    def shown(self) -> str:
        return "\n".join(self.error()._render_traceback_())
