import os
import signal
import subprocess
import sys

import pytest

from nbtune.record import process_start
from nbtune.supervisor.descendants import Process, descendants, open_pidfd, send

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=sys.stdin)
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def sleeper():
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_children_of_children_are_found_after_their_parents():
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        child = int(parent.stdout.readline())
        pids = [process.pid for process in descendants(os.getpid())]
        assert pids.index(parent.pid) < pids.index(child)
        assert os.getpid() not in pids
        parent.stdin.close()


def test_a_process_that_ended_but_is_not_reaped_is_not_living():
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert process.pid not in [p.pid for p in descendants(os.getpid())]


def test_a_signal_reaches_the_process_that_was_meant(sleeper):
    send(Process(sleeper.pid, process_start(sleeper.pid)), signal.SIGTERM)
    assert sleeper.wait() == -signal.SIGTERM


def test_a_process_that_got_the_pid_of_another_is_left_alone(sleeper):
    send(Process(sleeper.pid, "1"), signal.SIGKILL)
    send(Process(sleeper.pid, process_start(sleeper.pid)), signal.SIGTERM)
    assert sleeper.wait() == -signal.SIGTERM


def test_a_signal_to_a_process_that_is_gone_is_harmless():
    with subprocess.Popen(["true"]) as process:
        pid = process.pid
    send(Process(pid, "1"), signal.SIGKILL)
    with pytest.raises(ProcessLookupError):
        open_pidfd(pid)
