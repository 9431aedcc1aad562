"""A rank writes down why it failed, in torch's format and in our richer one."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtune.record import WorkerFailure, read_json, write_failure, write_json

if TYPE_CHECKING:
    from nbtune.record import JobDir

__all__ = [
    "PEERS_GRACE",
    "PEERS_WAIT",
    "RankPlace",
    "record_failure",
    "torch_record",
    "wait_for_peers",
]

# What gloo, NCCL and torch's stores say when a peer is gone. Their errors are
# plain RuntimeErrors in part, so that the text is all there is to tell by.
_PEER_LOST = re.compile(
    r"gloo|NCCL|nccl|by peer|Broken pipe|Socket"
    r"|Connection (was )?(closed|reset|refused)"
    r"|Timed out waiting|recvValue|sendBytes|store->"
)
PEERS_GRACE = 0.03
"""Seconds for other ranks to begin to fail as well."""
PEERS_WAIT = 1.0
"""Seconds for those that have begun to write their records."""
_LOOK = 0.005  # seconds between looks at the other ranks
_UNDECIDED = {None, "started", "failing"}
_DIST_ERRORS = {"DistBackendError", "DistNetworkError", "DistStoreError"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlace:
    """Which process of which attempt this is."""

    folder: JobDir
    rank: int
    local_rank: int
    attempt: int
    pid: int

    @classmethod
    def of_environment(cls, folder: JobDir) -> RankPlace:
        """Read the variables that torch's agent sets."""
        rank = int(os.environ["RANK"])
        # LOCAL_RANK is 0 everywhere with --virtual-local-rank.
        local_rank = rank % int(os.environ["LOCAL_WORLD_SIZE"])
        return cls(
            folder=folder,
            rank=rank,
            local_rank=local_rank,
            attempt=int(os.environ["TORCHELASTIC_RESTART_COUNT"]),
            pid=os.getpid(),
        )


def torch_record(message: str, callstack: str, time_ns: int) -> dict[str, object]:
    """The JSON of ``torch.distributed.elastic.multiprocessing.errors.ErrorHandler``."""
    extra = {"py_callstack": callstack, "timestamp": str(time_ns // 10**9)}
    return {"message": {"message": message, "extraInfo": extra}}


def record_failure(
    place: RankPlace, error: BaseException, traceback: str, time_ns: int
) -> int:
    """Write both records of *error*.

    Returns:
        The exit code that the process should end with.
    """
    name, text, code = type(error).__name__, _text(error), 1
    message = text
    if isinstance(error, SystemExit):
        code, message = _exit_status(error)
    log = place.folder.log(place.attempt, place.rank)
    failure = WorkerFailure(
        rank=place.rank,
        local_rank=place.local_rank,
        attempt=place.attempt,
        time_ns=time_ns,
        exception=name,
        message=message,
        traceback=traceback,
        exitcode=code,
        collective=_lost_a_peer(error),
        error_file=os.fspath(log.error),
    )
    write_failure(log.failure, failure)
    line = f"{name}: {text}"
    write_json(log.error, torch_record(line, failure.plain_traceback, time_ns))
    return code


def wait_for_peers(place: RankPlace, world: int) -> None:
    """Let ranks that fail at this moment write their records.

    torch's agent stops all others as soon as one ends, in the midst of a record
    if need be; an error that every rank raises should be seen on every rank.

    Args:
        place: this rank's; the peers are those on its node.
        world: ranks on this node.
    """
    first = place.rank - place.local_rank
    peers = set(range(first, first + world)) - {place.rank}
    begun = time.monotonic()
    while peers and time.monotonic() - begun < PEERS_WAIT:
        states = {rank: _state(place, rank) for rank in peers}
        peers = {rank for rank, state in states.items() if state in _UNDECIDED}
        writing = any(state == "failing" for state in states.values())
        if not writing and time.monotonic() - begun > PEERS_GRACE:
            return
        time.sleep(_LOOK)


def _state(place: RankPlace, rank: int) -> object:
    status = read_json(place.folder.status(rank)) or {}
    return status.get("state") if status.get("attempt") == place.attempt else None


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - the user's __str__ may do anything
        return f"<its message could not be made: {type(second).__name__}>"


def _exit_status(error: SystemExit) -> tuple[int, str]:
    """Exit code and text, by the rule of ``sys.exit``."""
    if isinstance(error.code, int):
        return error.code & 0xFF or 1, ""
    return 1, _text(error)


def _lost_a_peer(error: BaseException) -> bool:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        names = {kind.__name__ for kind in type(current).__mro__}
        if names & _DIST_ERRORS:
            return True
        if type(current) is RuntimeError and _PEER_LOST.search(_text(current)):
            return True
        current = current.__cause__ or current.__context__
    return False
