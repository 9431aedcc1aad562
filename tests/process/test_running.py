import os
import select
import signal
import threading
from pathlib import Path

import pytest


def test_waiting_for_a_job_that_goes_on_is_false(begin):
    running = begin("wait_alone")
    assert running.wait(0) is False
    assert running.wait(0.01) is False


def test_a_job_that_has_ended_is_reaped(begin):
    running = begin("succeed")
    assert running.wait(None) is True
    with pytest.raises(ChildProcessError):
        os.waitpid(running.pid, os.WNOHANG)
    assert running.wait(0) is True


def test_the_descriptor_is_readable_at_the_end(begin):
    running = begin("succeed")
    assert select.select([running], [], [], 60)[0] == [running]
    assert running.wait(60)
    assert running.fileno() == -1


@pytest.mark.parametrize("step", ["I", "T", "K"])
def test_an_interrupt_after_the_end_is_harmless(begin, step):
    running = begin("succeed")
    select.select([running], [], [], 60)
    running.interrupt(step)
    assert running.wait(0)
    running.interrupt(step)


def test_an_interrupt_of_a_killed_supervisor_raises_no_signal(begin):
    heard = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        running = begin("wait_alone")
        os.kill(running.pid, signal.SIGKILL)
        select.select([running], [], [], 60)
        running.interrupt("I")
    finally:
        signal.signal(signal.SIGPIPE, heard)
    assert running.wait(0)


def test_interrupts_of_a_stopped_supervisor_do_not_block(begin):
    running = begin("wait_alone")
    os.kill(running.pid, signal.SIGSTOP)
    for _ in range(70_000):
        running.interrupt("I")
    os.kill(running.pid, signal.SIGCONT)
    assert running.wait(60)


def test_a_step_that_does_not_exist_is_refused(begin):
    running = begin("succeed")
    with pytest.raises(ValueError, match="'X' is none of I, T, K"):
        running.interrupt("X")


def test_several_threads_may_wait_for_one_job(begin):
    running = begin("wait_alone")
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(running.wait(60))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    running.interrupt("K")
    for thread in threads:
        thread.join()
    assert seen == [True] * 4


def test_twenty_jobs_leave_nothing_in_the_kernel(begin):
    def state():
        children = f"/proc/self/task/{threading.get_native_id()}/children"
        kin = Path(children).read_text("ascii")
        return sorted(os.listdir("/proc/self/fd")), threading.active_count(), kin

    before = state()
    for number in range(20):
        assert begin("succeed", f"job{number}").wait(60)
    assert state() == before
