"""What the launcher writes down while a job runs, one JSON object a line."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "AttemptStarted",
    "Event",
    "JobFinished",
    "LauncherStarted",
    "RankExited",
    "RankStarted",
    "RankStopped",
    "encode",
    "read_events",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherStarted:
    """The launcher runs and has read the spec."""

    time_ns: int
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted:
    """The agent starts the ranks, for the first time or again."""

    time_ns: int
    attempt: int
    endpoint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStarted:
    """The process of a rank runs."""

    time_ns: int
    attempt: int
    rank: int
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStopped:
    """The launcher itself sent *signal* to a rank that had not failed."""

    time_ns: int
    attempt: int
    rank: int
    signal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankExited:
    """The process of a rank ended; *exitcode* is negative for a signal."""

    time_ns: int
    attempt: int
    rank: int
    exitcode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFinished:
    """The last event: ``state`` is a finished ``JobState``."""

    time_ns: int
    state: str
    message: str = ""


Event = (
    LauncherStarted
    | AttemptStarted
    | RankStarted
    | RankStopped
    | RankExited
    | JobFinished
)
_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        LauncherStarted,
        AttemptStarted,
        RankStarted,
        RankStopped,
        RankExited,
        JobFinished,
    )
}


def encode(event: Event) -> bytes:
    """One line of ``events.jsonl``."""
    fields = {"event": type(event).__name__, **dataclasses.asdict(event)}
    return json.dumps(fields).encode("ascii") + b"\n"


def read_events(path: Path) -> list[Event]:
    """All whole events of a file; a last line that is cut off is left out."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    return [event for line in lines if (event := _decode(line)) is not None]


def _decode(line: bytes) -> Event | None:
    try:
        fields: dict[str, Any] = json.loads(line)
        return _KINDS[fields.pop("event")](**fields)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
