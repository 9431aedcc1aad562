"""How a rank failed, and which of several failures was the cause."""

from __future__ import annotations

import dataclasses
import re
import signal as signals
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .events import RankExited, RankStopped
from .files import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from .events import Event
    from .jobdir import JobDir

__all__ = [
    "OUT_OF_MEMORY",
    "Verdict",
    "WorkerFailure",
    "death_words",
    "judge",
    "read_failure",
    "read_failures",
    "signal_name",
    "write_failure",
]

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
OUT_OF_MEMORY = "often the system ran out of memory"
_SUMMARY = 200  # characters of a message that go into a line


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFailure:
    """One rank's failure.

    Attributes:
        rank: global rank.
        local_rank: rank on its node.
        attempt: 0 for the first start, 1 after one restart, and so on.
        time_ns: when it happened, ``time.time_ns()`` of this machine.
        exception: type name of what was raised, ``""`` if the process died.
        message: the exception's text, or ``""``.
        traceback: lines as IPython renders them, with ANSI colours.
        exitcode: exit status of the process, negative for a signal, None while
            it is not known.
        collective: the error says that a peer was lost, so that another rank's
            failure is the likely cause.
        stopped: the launcher ended this rank because another had failed.
        error_file: path of torch's record, ``""`` if there is none.
        note: further words, for instance what the kernel log says of a kill.
    """

    rank: int
    local_rank: int
    attempt: int
    time_ns: int
    exception: str = ""
    message: str = ""
    traceback: str = ""
    exitcode: int | None = None
    collective: bool = False
    stopped: bool = False
    error_file: str = ""
    note: str = ""

    @property
    def signal(self) -> str:
        """Name of the signal that ended the process, ``""`` if none did."""
        code = self.exitcode
        return signal_name(-code) if code is not None and code < 0 else ""

    @property
    def plain_traceback(self) -> str:
        """The traceback without colours."""
        return _ANSI.sub("", self.traceback)

    def summary(self) -> str:
        """One line: which rank, and what happened to it."""
        return f"rank {self.rank} {self.what()}"

    def what(self) -> str:
        """What happened, without the rank: one line, shortened if need be."""
        first, *more = self.message.strip().splitlines() or [""]
        text = (
            first if len(first) <= _SUMMARY and not more else f"{first[:_SUMMARY]} ..."
        )
        if self.exception == "SystemExit":
            return (
                f"exited with: {text}"
                if text
                else f"exited with exit code {self.exitcode}"
            )
        if self.exception:
            return f"raised {self.exception}{f': {text}' if text else ''}"
        return self.death()

    def death(self) -> str:
        """The end of a process that raised nothing, in words."""
        return death_words(self.exitcode, self.note)


def death_words(exitcode: int | None, note: str = "") -> str:
    """How a process ended that raised nothing: ``"crashed (SIGSEGV)"``.

    Args:
        exitcode: its exit status, negative for a signal.
        note: what is known of a kill beyond the signal.
    """
    if exitcode is None or exitcode >= 0:
        return f"ended with exit code {exitcode}, without an exception"
    match signal_name(-exitcode):
        case "SIGKILL":
            return f"was killed (SIGKILL), {note or OUT_OF_MEMORY}"
        case "SIGTERM" | "SIGINT" | "SIGHUP" | "SIGQUIT" as name:
            return f"was ended from outside ({name})"
        case name:
            return f"crashed ({name})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The failures of one attempt, told apart.

    Attributes:
        root: the rank that failed first on its own account.
        same: other ranks that raised the same error on their own account.
        others: other failures that are no mere consequence.
        consequences: ranks that lost a peer or were stopped.
    """

    root: WorkerFailure
    same: tuple[WorkerFailure, ...] = ()
    others: tuple[WorkerFailure, ...] = ()
    consequences: tuple[WorkerFailure, ...] = ()


def signal_name(number: int) -> str:
    """``"SIGSEGV"`` for 11; the number in words for one without a name."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def write_failure(path: Path, failure: WorkerFailure) -> None:
    """Write a rank's own record, whole.

    Raises:
        OSError: the folder cannot be written.
    """
    write_json(path, dataclasses.asdict(failure))


def read_failure(path: Path) -> WorkerFailure | None:
    """Read a rank's own record; None if there is none."""
    fields: dict[str, Any] | None = read_json(path)
    if fields is None:
        return None
    try:
        return WorkerFailure(**fields)
    except TypeError:
        return None


def read_failures(
    folder: JobDir, attempt: int, events: Iterable[Event]
) -> list[WorkerFailure]:
    """All failures of an attempt: the ranks' own records and plain deaths."""
    records = {
        rank: failure
        for rank in folder.ranks(attempt)
        if (failure := read_failure(folder.log(attempt, rank).failure)) is not None
    }
    stopped: dict[int, RankStopped] = {}
    for event in events:
        match event:
            case RankStopped(attempt=number, rank=rank) if number == attempt:
                stopped[rank] = event
            case RankExited(attempt=number, rank=rank) if number == attempt:
                stop = stopped.get(rank)
                by_us = stop is not None and event.exitcode == -stop.signal
                _add_exit(records, event, stopped=by_us)
            case _:
                pass
    for rank, event in stopped.items():
        records.setdefault(rank, _death(event, stopped=True))
    failures = _ended_by_agent(list(records.values()))
    return sorted(failures, key=lambda failure: failure.rank)


def _add_exit(
    records: dict[int, WorkerFailure], event: RankExited, *, stopped: bool
) -> None:
    known = records.get(event.rank)
    if known is not None:
        records[event.rank] = dataclasses.replace(known, exitcode=event.exitcode)
    elif event.exitcode != 0:
        # SIGTERM to a rank after another one has ended badly is the agent's.
        ended = any(failure.exitcode is not None for failure in records.values())
        by_agent = ended and event.exitcode == -signals.SIGTERM
        records[event.rank] = _death(event, stopped=stopped or by_agent)


def _ended_by_agent(failures: list[WorkerFailure]) -> list[WorkerFailure]:
    """SIGTERM is the agent's too where the end of the cause was seen later.

    The agent may reap the rank that failed before the monitor looks at it.
    """
    own = [f for f in failures if not (f.collective or f.stopped or _termed(f))]
    if not own:
        return failures
    return [dataclasses.replace(f, stopped=True) if _termed(f) else f for f in failures]


def _termed(failure: WorkerFailure) -> bool:
    return failure.exception == "" and failure.exitcode == -signals.SIGTERM


def _death(event: RankExited | RankStopped, *, stopped: bool) -> WorkerFailure:
    """The failure of a process that left no record of its own."""
    code = event.exitcode if isinstance(event, RankExited) else -event.signal
    return WorkerFailure(
        rank=event.rank,
        local_rank=event.rank,
        attempt=event.attempt,
        time_ns=event.time_ns,
        exitcode=code,
        stopped=stopped,
    )


def judge(failures: Sequence[WorkerFailure]) -> Verdict | None:
    """Tell cause from consequence; None if nothing failed.

    A rank that raised or died on its own account comes before one whose
    collective broke, and that before one that was stopped; within a class the
    earlier nanosecond wins.
    """
    if not failures:
        return None

    def order(failure: WorkerFailure) -> tuple[bool, bool, int]:
        return failure.stopped, failure.collective, failure.time_ns

    root, *rest = sorted(failures, key=order)
    own = [f for f in rest if not (f.stopped or f.collective)]
    if root.collective:
        own += [f for f in rest if f.collective and not f.stopped and _alike(f, root)]
    same = tuple(f for f in own if _alike(f, root))
    others = tuple(f for f in own if not _alike(f, root))
    consequences = tuple(f for f in rest if f not in own)
    return Verdict(root, same, others, consequences)


def _alike(one: WorkerFailure, other: WorkerFailure) -> bool:
    return (
        one.exception == other.exception
        and one.message == other.message
        and (one.exception != "" or one.exitcode == other.exitcode)
    )
