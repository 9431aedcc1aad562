import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from nbtune.process import Running, start
from nbtune.record import (
    Call,
    JobDir,
    LaunchSpec,
    process_start,
    read_json,
    write_spec,
)

HERE = Path(__file__).parent


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)
    return value


@dataclass
class Job:
    """A job with a stand-in launcher, seen from outside."""

    folder: JobDir
    running: Running | None = None

    def pid(self, role):
        """The pid of a process, once it lives and has enrolled."""
        path = self.folder.root / "pids" / role
        return until(lambda: read_json(path))["pid"]

    def living(self):
        marks = [read_json(p) for p in (self.folder.root / "pids").glob("[!.]*")]
        return [m["pid"] for m in marks if process_start(m["pid"]) == m["start"]]

    def record(self):
        return read_json(self.folder.supervisor) or {}

    def ended(self):
        return until(lambda: self.record().get("ended") and self.record())

    def log(self):
        return self.folder.launcher_log.read_text("utf-8")

    def has(self, pattern):
        return bool(list(self.folder.root.glob(pattern)))


@pytest.fixture
def environ():
    """The environment in which a supervisor finds the stand-in launchers."""
    # alone: an empty entry would be the working directory
    return {**os.environ, "PYTHONPATH": str(HERE)}


@pytest.fixture
def begin(tmp_path, environ):
    """Start a job with one of the stand-in launchers."""
    jobs = []

    def begin(behaviour, *, folder="job", **spec):
        job = Job(JobDir(tmp_path / folder))
        job.folder.root.mkdir()
        asked = LaunchSpec(
            entry=Call(),
            argv=(),
            nproc=1,
            name=behaviour,
            **{"kernel_pid": os.getpid(), **spec},
        )
        write_spec(job.folder.spec, asked)
        job.running = start(
            job.folder,
            executable=sys.executable,
            environ=environ,
            launcher="stand_in",
        )
        jobs.append(job)
        return job

    yield begin
    for job in jobs:
        job.running.interrupt("K")
        assert job.running.wait(60)


@pytest.fixture
def begin_kernel(tmp_path, environ):
    """Start a process that is the kernel of a job."""
    with contextlib.ExitStack() as kernels:

        def begin_kernel(behaviour, *words):
            folder = JobDir(tmp_path / "job")
            folder.root.mkdir()
            environ["PYTHONPATH"] += os.pathsep + str(HERE.parent.parent)
            kernel = subprocess.Popen(
                [sys.executable, HERE / "kernel.py", folder.root, behaviour, *words],
                stdin=subprocess.PIPE,
                env=environ,
            )
            kernels.enter_context(kernel)
            kernels.callback(kernel.send_signal, signal.SIGKILL)
            return Job(folder), kernel

        yield begin_kernel


@pytest.fixture(name="until")
def until_fixture():
    """Wait until a condition holds, and return its value."""
    return until
