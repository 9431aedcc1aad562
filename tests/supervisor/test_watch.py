import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nbtune.supervisor.ladder import WAITS, Step


def gone(job):
    return job.running.wait(60) and not job.living()


def test_an_interrupt_reaches_the_launcher_alone(begin):
    job = begin("hand_on")
    job.pid("ready")
    job.running.interrupt("I")
    assert gone(job)
    assert job.has("launcher-interrupted")
    assert job.has("rank-interrupted")
    assert not job.has("SIGTERM-*")
    assert job.record()["reason"] == "cancel"
    assert job.record()["launcher_exit"] == 1


@pytest.mark.slow
def test_processes_that_ignore_every_polite_signal_are_killed(begin):
    job = begin("be_stubborn")
    launcher, rank = job.pid("launcher"), job.pid("ready")
    job.running.interrupt("I")
    assert not job.running.wait(WAITS[Step.INTERRUPT] / 2)
    assert gone(job)
    assert job.has(f"SIGINT-{launcher}")
    assert not job.has(f"SIGTERM-{launcher}")
    assert job.has(f"SIGTERM-{rank}")
    assert job.record()["launcher_exit"] == -signal.SIGKILL


def test_more_presses_jump_ahead(begin, until):
    job = begin("be_stubborn")
    launcher, rank = job.pid("launcher"), job.pid("ready")
    for step in "ITT":
        job.running.interrupt(step)
    until(lambda: job.has(f"SIGTERM-{rank}"))
    until(lambda: job.has(f"SIGINT-{launcher}"))
    assert rank in job.living()
    job.running.interrupt("K")
    until(lambda: rank not in job.living())
    assert gone(job)
    assert job.record()["reason"] == "cancel"


def test_a_first_press_may_be_the_last_one(begin, until):
    job = begin("be_stubborn")
    rank = job.pid("ready")
    job.running.interrupt("K")
    until(lambda: rank not in job.living())
    assert gone(job)
    assert not job.has(f"SIGTERM-{rank}")


def test_a_job_that_runs_too_long_ends_with_a_record(begin):
    job = begin("record_sigint", timeout=0.01)
    assert gone(job)
    assert job.record()["reason"] == "timeout"


def test_a_launcher_hears_sigint_when_time_is_up(begin, tmp_path):
    target = tmp_path / "mine.json"
    job = begin("record_sigint", timeout=3, user_error_file=str(target))
    assert gone(job)
    assert "got signal: 2" in target.read_text()
    assert job.record()["launcher_exit"] == 1


def test_a_limit_that_is_not_reached_changes_nothing(begin):
    job = begin("succeed", timeout=600)
    assert gone(job)
    assert job.record()["reason"] == ""


def test_a_closed_lifeline_ends_the_job(begin_kernel):
    job, kernel = begin_kernel("have_family")
    for role in ("launcher", "rank", "child", "daemon"):
        job.pid(role)
    kernel.stdin.close()
    assert kernel.wait(60) == 0
    assert job.ended()["reason"] == "kernel"
    assert not job.living()


def test_a_killed_kernel_leaves_no_process(begin_kernel):
    job, kernel = begin_kernel("have_family")
    for role in ("launcher", "rank", "child", "daemon"):
        job.pid(role)
    kernel.kill()
    assert job.ended()["reason"] == "kernel"
    assert not job.living()


def test_a_child_of_the_kernel_that_holds_the_lifeline_keeps_no_job(begin_kernel):
    job, kernel = begin_kernel("wait_alone", "fork")
    job.pid("ready")
    kernel.kill()
    kernel.wait(60)
    assert job.ended()["reason"] == "kernel"
    assert not job.living()


def test_a_kernel_that_was_gone_before_is_noticed(begin):
    with subprocess.Popen(["true"]) as earlier:
        pass
    job = begin("wait_alone", kernel_pid=earlier.pid)
    assert gone(job)
    assert job.record()["reason"] == "kernel"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_the_supervisor_ends_the_job(begin, number):
    job = begin("have_family")
    job.pid("daemon")
    job.pid("rank")
    os.kill(job.running.pid, number)
    assert gone(job)
    assert job.record()["reason"] == "cancel"


def test_orphans_are_reaped_while_the_job_runs(begin, until):
    job = begin("have_family")
    daemon = job.pid("daemon")
    job.pid("rank")
    os.kill(daemon, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{daemon}").exists())
    assert job.running.wait(0) is False


def test_the_supervisor_can_be_recognised(begin):
    job = begin("wait_alone")
    job.pid("ready")
    command = Path(f"/proc/{job.running.pid}/cmdline").read_bytes()
    assert b"nbtune.supervisor" in command
    assert sys.executable.encode() in command
