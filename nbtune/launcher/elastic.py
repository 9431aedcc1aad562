"""The elastic launch: torch's agent under torch's ``@record``, and its ends told apart.

Imports torch: the launcher sets its environment before it imports this module.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
    record,
)
from torch.distributed.launcher.api import elastic_launch

from nbtune.record import (
    JobState,
    RankExited,
    WorkerFailure,
    judge,
    read_events,
    read_failures,
    read_json,
    write_failure,
    write_json,
)

from . import worker
from .config import launch_config
from .failing import torch_record
from .monitor import Monitor
from .surroundings import plain_torch_logs

if TYPE_CHECKING:
    from nbtune.record import JobDir, LaunchSpec

    from .journal import Journal

__all__ = ["launch"]


def launch(
    folder: JobDir,
    spec: LaunchSpec,
    journal: Journal,
    before: dict[str, str | None],
) -> tuple[JobState, str]:
    """Run the job.

    Returns:
        How it ended, and the launcher's own error, ``""`` if it is a rank's.
    """
    monitor = Monitor(folder, journal)
    plain_torch_logs()
    try:
        _main(folder, spec, journal, monitor, before)
    except ChildFailedError:
        return JobState.FAILED, ""
    except SignalException as error:
        monitor.join()
        return JobState.CANCELLED, f"SignalException: {error}"
    except Exception as error:  # noqa: BLE001 - recorded already; the job's end
        sys.excepthook(type(error), error, error.__traceback__)
        return JobState.FAILED, f"{type(error).__name__}: {error}"
    monitor.join()
    return JobState.SUCCEEDED, ""


@record
def _main(
    folder: JobDir,
    spec: LaunchSpec,
    journal: Journal,
    monitor: Monitor,
    before: dict[str, str | None],
) -> None:
    config = launch_config(spec, folder, monitor.attempt_starts)
    try:
        elastic_launch(config, worker.main)(folder.root, before)
    except ChildFailedError as error:
        monitor.join()
        _raise_cause(folder, spec, journal, error)
    except SignalException:
        monitor.join()
        if not monitor.left:
            raise
        raise _left_early(folder, monitor.left[0]) from None


def _raise_cause(
    folder: JobDir, spec: LaunchSpec, journal: Journal, error: ChildFailedError
) -> None:
    """Raise the root cause alone, with a record that ``@record`` can copy.

    The cell's success counts, not what torch does at the end of a process: when
    every rank has finished its code, nothing is raised.
    """
    attempt = (folder.attempts() or [0])[-1]
    if all(_finished(folder, rank, attempt) for rank in range(spec.nproc)):
        return
    exits = [e for e in read_events(folder.events) if isinstance(e, RankExited)]
    exited = {event.rank for event in exits if event.attempt == attempt}
    for rank, reported in error.failures.items():
        if rank not in exited:
            journal.write(
                RankExited(
                    time_ns=time.time_ns(),
                    attempt=attempt,
                    rank=rank,
                    exitcode=reported.exitcode,
                )
            )
    failures = read_failures(folder, attempt, read_events(folder.events))
    verdict = judge(failures)
    if verdict is None:
        raise error
    root = verdict.root
    cause = {root.rank: _process_failure(folder, root)}
    raise type(error)(error.name, cause) from None


def _left_early(folder: JobDir, rank: int) -> ChildFailedError:
    """The error of a rank that ended with exit code 0 before its code did."""
    failure = WorkerFailure(
        rank=rank,
        local_rank=rank,
        attempt=(folder.attempts() or [0])[-1],
        time_ns=time.time_ns(),
        exitcode=0,
    )
    # The rank itself is gone.
    write_failure(folder.log(failure.attempt, rank).failure, failure)
    return ChildFailedError("cell", {rank: _process_failure(folder, failure)})


def _finished(folder: JobDir, rank: int, attempt: int) -> bool:
    status = read_json(folder.status(rank)) or {}
    return status.get("state") == "finished" and status.get("attempt") == attempt


def _process_failure(folder: JobDir, root: WorkerFailure) -> ProcessFailure:
    log = folder.log(root.attempt, root.rank)
    if not log.error.exists():
        # A process that died could not record itself.
        line = root.summary()
        write_json(log.error, torch_record(line, line, root.time_ns))
    return ProcessFailure(
        local_rank=root.local_rank,
        pid=0,
        exitcode=root.exitcode or 1,
        error_file=os.fspath(log.error),
    )
