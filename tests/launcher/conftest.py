"""Real launches of a cell's source, without a kernel."""

import os
import sys
from dataclasses import dataclass

import pytest

from nbtune.payload import pack
from nbtune.process import start
from nbtune.record import (
    Cell,
    JobDir,
    LaunchSpec,
    Snapshot,
    read_events,
    read_failures,
    read_snapshot,
    write_spec,
)


@dataclass
class Launched:
    folder: JobDir
    snapshot: Snapshot

    def out(self, rank, attempt=0):
        return self.folder.log(attempt, rank).stdout.read_text()

    def err(self, rank, attempt=0):
        return self.folder.log(attempt, rank).stderr.read_text()

    @property
    def failures(self):
        events = read_events(self.folder.events)
        return read_failures(self.folder, self.snapshot.attempt, events)

    @property
    def log(self):
        return self.folder.launcher_log.read_text()


@pytest.fixture
def launch(tmp_path):
    def run(source, *argv, nproc=2, environ=None, **spec):
        folder = JobDir(tmp_path / "job")
        folder.payload.mkdir(parents=True)
        pack({}, folder.payload, namespace={})
        fields = {
            "entry": Cell(source=source, execution_count=7, out=("*",)),
            "argv": argv,
            "nproc": nproc,
            "cwd": str(tmp_path),
            "sys_path": tuple(sys.path),
            "kernel_pid": os.getpid(),
        }
        write_spec(folder.spec, LaunchSpec(**{**fields, **spec}))
        environ = {**os.environ, **(environ or {})}
        running = start(folder, executable=sys.executable, environ=environ)
        running.wait()
        return Launched(folder, read_snapshot(folder))

    return run
