import gc
import os
import sys
from pathlib import Path

import pytest

from nbtune.errors import LaunchError
from nbtune.process import start
from nbtune.process.start import _started
from nbtune.record import process_start

STAND_INS = Path(__file__).parent.parent / "supervisor"


def open_files():
    return sorted(os.listdir("/proc/self/fd"))


def test_an_interpreter_that_is_not_there_is_one_line(prepare):
    folder = prepare("succeed")
    before = open_files()
    with pytest.raises(LaunchError) as caught:
        start(folder, executable="/no/such/python", environ=os.environ)
    assert str(caught.value).count("\n") == 0
    assert "/no/such/python" in str(caught.value)
    assert open_files() == before


def test_a_folder_that_is_not_there_is_one_line(prepare):
    folder = prepare("succeed")
    folder.spec.unlink()
    folder.root.rmdir()
    before = open_files()
    with pytest.raises(LaunchError, match=r"launcher\.log"):
        start(folder, executable=sys.executable, environ=os.environ)
    assert open_files() == before


def test_an_environment_that_no_process_can_have_is_one_line(prepare):
    folder = prepare("succeed")
    before = open_files()
    with pytest.raises(LaunchError, match="cannot start the job"):
        start(folder, executable=sys.executable, environ={"A=B": "c"})
    assert open_files() == before


def test_the_job_is_in_a_session_that_no_interrupt_of_the_kernel_reaches(begin):
    running = begin("wait_alone")
    assert os.getsid(running.pid) == running.pid


def test_a_job_goes_on_when_its_handle_is_let_go(prepare):
    def start_and_forget():
        environ = {**os.environ, "PYTHONPATH": str(STAND_INS)}
        return start(
            prepare("wait_alone"),
            executable=sys.executable,
            environ=environ,
            launcher="stand_in",
        ).pid

    pid = start_and_forget()
    gc.collect()
    children = Path(f"/proc/{pid}/task/{pid}/children")
    while not children.read_text():  # the launcher
        assert process_start(pid)
    (running,) = (kept for kept in _started if kept.pid == pid)
    assert running.wait(0) is False
    running.interrupt("K")
    assert running.wait(60)
