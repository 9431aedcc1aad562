import os
import sys
from pathlib import Path

import pytest

from nbtune.process import start
from nbtune.record import Call, JobDir, LaunchSpec, write_spec

STAND_INS = Path(__file__).parent.parent / "supervisor"


@pytest.fixture
def prepare(tmp_path):
    """A job's folder for one of the supervisor's stand-in launchers."""

    def prepare(behaviour, folder="job"):
        job = JobDir(tmp_path / folder)
        job.root.mkdir()
        spec = LaunchSpec(
            entry=Call(), argv=(), nproc=1, name=behaviour, kernel_pid=os.getpid()
        )
        write_spec(job.spec, spec)
        return job

    return prepare


@pytest.fixture
def begin(prepare):
    """Start a job with one of the stand-in launchers."""
    started = []

    def begin(behaviour, folder="job"):
        running = start(
            prepare(behaviour, folder),
            executable=sys.executable,
            environ={**os.environ, "PYTHONPATH": str(STAND_INS)},
            launcher="stand_in",
        )
        started.append(running)
        return running

    yield begin
    for running in started:
        running.interrupt("K")
        assert running.wait(60)
