"""The state of a job from its folder."""

import os
import socket
import subprocess
import sys

import pytest

from nbtune.record import (
    AttemptStarted,
    JobDir,
    JobFinished,
    JobState,
    LauncherStarted,
    RankStarted,
    encode,
    process_start,
    read_snapshot,
    write_json,
)


def job(tmp_path, *events, pid=None, start=None, reason=""):
    folder = JobDir(tmp_path)
    folder.events.write_bytes(b"".join(encode(event) for event in events))
    if pid is not None:
        record = {"pid": pid, "start": start, "host": socket.gethostname()}
        write_json(folder.supervisor, {**record, "reason": reason})
    return folder


def finished(state):
    return JobFinished(time_ns=9, state=state)


BEGUN = (
    LauncherStarted(time_ns=1, pid=1),
    AttemptStarted(time_ns=2, attempt=0, endpoint="127.0.0.1:4711"),
    RankStarted(time_ns=3, attempt=0, rank=0, pid=2),
)


def test_an_empty_folder_is_pending(tmp_path):
    assert read_snapshot(JobDir(tmp_path)).state is JobState.PENDING


def test_a_living_supervisor_means_running(tmp_path):
    me = os.getpid()
    folder = job(tmp_path, *BEGUN, pid=me, start=process_start(me))
    snapshot = read_snapshot(folder)
    assert snapshot.state is JobState.RUNNING
    assert snapshot.endpoint == "127.0.0.1:4711"


def test_a_reused_pid_is_not_taken_for_the_supervisor(tmp_path):
    folder = job(tmp_path, *BEGUN, pid=os.getpid(), start="1")
    assert read_snapshot(folder).state is JobState.LOST


def test_a_zombie_is_gone(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    start = process_start(child.pid)
    assert start
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    folder = job(tmp_path, *BEGUN, pid=child.pid, start=start)
    assert read_snapshot(folder).state is JobState.LOST
    child.wait()


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        ("", JobState.LOST),
        ("cancel", JobState.CANCELLED),
        ("kernel", JobState.CANCELLED),
        ("timeout", JobState.FAILED),
    ],
)
def test_the_supervisors_reason_decides_an_unfinished_job(tmp_path, reason, state):
    folder = job(tmp_path, *BEGUN, pid=os.getpid(), start="1", reason=reason)
    assert read_snapshot(folder).state is state


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        ("", JobState.LOST),
        ("cancel", JobState.CANCELLED),
        ("timeout", JobState.FAILED),
    ],
)
def test_the_supervisors_reason_decides_a_signalled_launcher(tmp_path, reason, state):
    end = finished("CANCELLED")
    folder = job(tmp_path, *BEGUN, end, pid=os.getpid(), start="1", reason=reason)
    assert read_snapshot(folder).state is state


def test_the_launchers_last_word_counts(tmp_path):
    folder = job(tmp_path, *BEGUN, finished("SUCCEEDED"), pid=1, start="0")
    assert read_snapshot(folder).state is JobState.SUCCEEDED
