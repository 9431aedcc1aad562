"""The files of a job: their paths, their formats, what they say together.

Standard library alone, so that the kernel, the launcher, the ranks and a
terminal all read and write with the same code.
"""

from .events import (
    AttemptStarted,
    Event,
    JobFinished,
    LauncherStarted,
    RankExited,
    RankStarted,
    RankStopped,
    encode,
    read_events,
)
from .failure import (
    OUT_OF_MEMORY,
    Verdict,
    WorkerFailure,
    death_words,
    judge,
    read_failure,
    read_failures,
    signal_name,
    write_failure,
)
from .files import read_json, write_json, write_whole
from .jobdir import JobDir, RankLog
from .spec import Call, Cell, LaunchSpec, read_spec, write_spec
from .state import JobState, Snapshot, process_start, read_snapshot

__all__ = [
    "OUT_OF_MEMORY",
    "AttemptStarted",
    "Call",
    "Cell",
    "Event",
    "JobDir",
    "JobFinished",
    "JobState",
    "LaunchSpec",
    "LauncherStarted",
    "RankExited",
    "RankLog",
    "RankStarted",
    "RankStopped",
    "Snapshot",
    "Verdict",
    "WorkerFailure",
    "death_words",
    "encode",
    "judge",
    "process_start",
    "read_events",
    "read_failure",
    "read_failures",
    "read_json",
    "read_snapshot",
    "read_spec",
    "signal_name",
    "write_failure",
    "write_json",
    "write_spec",
    "write_whole",
]
