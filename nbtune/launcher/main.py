"""The launcher: a recorded elastic launch of one job."""

from __future__ import annotations

import gc
import os
import sys
import time
from typing import TYPE_CHECKING

from nbtune.record import (
    JobFinished,
    JobState,
    LauncherStarted,
    RankExited,
    judge,
    read_events,
    read_failures,
    read_json,
    read_spec,
    write_json,
)

from .journal import Journal
from .surroundings import plain_torch_logs, prepare_launcher

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import (
        ChildFailedError,
        ProcessFailure,
    )

    from nbtune.record import JobDir, LaunchSpec, WorkerFailure

__all__ = ["run"]


def run(folder: JobDir) -> int:
    """Launch the job in *folder* and write down how it ended.

    Returns:
        0 if every rank succeeded, 1 otherwise.
    """
    journal = Journal(folder.events)
    journal.write(LauncherStarted(time_ns=time.time_ns(), pid=os.getpid()))
    spec = read_spec(folder.spec)
    if spec is None:
        return _finish(journal, JobState.FAILED, f"{folder.spec} cannot be read")
    before = prepare_launcher(spec, os.fspath(folder.error))
    try:
        return _launch(folder, spec, journal, before)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the job's end
        # Before torch was there to record it.
        sys.excepthook(type(error), error, error.__traceback__)
        return _finish(journal, JobState.FAILED, f"{type(error).__name__}: {error}")


def _launch(
    folder: JobDir,
    spec: LaunchSpec,
    journal: Journal,
    before: dict[str, str | None],
) -> int:
    # While modules load there is nothing to collect, and what they made is shared
    # with the ranks as long as no collection touches it.
    gc.disable()
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import (
        ChildFailedError,
        record,
    )
    from torch.distributed.launcher.api import elastic_launch

    from . import worker
    from .config import launch_config
    from .monitor import Monitor

    gc.freeze()
    gc.enable()
    monitor = Monitor(folder, journal)
    plain_torch_logs()

    @record
    def launch() -> None:
        config = launch_config(spec, folder, monitor.attempt_starts)
        try:
            elastic_launch(config, worker.main)(folder.root, before)
        except ChildFailedError as error:
            monitor.join()
            _raise_cause(folder, spec, journal, error)

    try:
        launch()
    except ChildFailedError:
        return _finish(journal, JobState.FAILED, "")
    except SignalException as error:
        monitor.join()
        return _finish(journal, JobState.CANCELLED, f"SignalException: {error}")
    except Exception as error:  # noqa: BLE001 - recorded already; the job's end
        sys.excepthook(type(error), error, error.__traceback__)
        return _finish(journal, JobState.FAILED, f"{type(error).__name__}: {error}")
    monitor.join()
    return _finish(journal, JobState.SUCCEEDED, "")


def _finish(journal: Journal, state: JobState, message: str) -> int:
    journal.write(
        JobFinished(time_ns=time.time_ns(), state=state.value, message=message)
    )
    return 0 if state is JobState.SUCCEEDED else 1


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


def _finished(folder: JobDir, rank: int, attempt: int) -> bool:
    status = read_json(folder.status(rank)) or {}
    return status.get("state") == "finished" and status.get("attempt") == attempt


def _process_failure(folder: JobDir, root: WorkerFailure) -> ProcessFailure:
    from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

    from .failing import torch_record

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
