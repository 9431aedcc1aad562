"""The launcher: a recorded elastic launch of one job."""

from __future__ import annotations

import gc
import os
import sys
import time
from typing import TYPE_CHECKING

from nbtune.record import JobFinished, JobState, LauncherStarted, read_spec

from .journal import Journal
from .surroundings import prepare_launcher

if TYPE_CHECKING:
    from nbtune.record import JobDir

__all__ = ["run"]


def run(folder: JobDir) -> int:
    """Launch the job in *folder* and write down how it ended.

    Returns:
        0 if every rank succeeded, 1 otherwise.
    """
    journal = Journal(folder.events)
    journal.write(LauncherStarted(time_ns=time.time_ns(), pid=os.getpid()))
    try:
        state, message = _launch(folder, journal)
    except Exception as error:  # noqa: BLE001 - before torch was there to record it
        sys.excepthook(type(error), error, error.__traceback__)
        state, message = JobState.FAILED, f"{type(error).__name__}: {error}"
    journal.write(
        JobFinished(time_ns=time.time_ns(), state=state.value, message=message)
    )
    return 0 if state is JobState.SUCCEEDED else 1


def _launch(folder: JobDir, journal: Journal) -> tuple[JobState, str]:
    spec = read_spec(folder.spec)
    if spec is None:
        return JobState.FAILED, f"{folder.spec} cannot be read"
    before = prepare_launcher(spec, os.fspath(folder.error))
    # While modules load there is nothing to collect, and what they made is shared
    # with the ranks as long as no collection touches it.
    gc.disable()
    from .elastic import launch

    gc.freeze()
    gc.enable()
    return launch(folder, spec, journal, before)
