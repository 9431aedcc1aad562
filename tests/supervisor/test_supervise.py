import json
import os
import signal
import socket
from pathlib import Path

from nbtune.record import process_start

FAMILY = ("launcher", "rank", "child", "daemon")


def test_the_record_says_who_supervises(begin):
    job = begin("wait_alone")
    job.pid("ready")
    pid = job.running.pid
    assert job.record() == {
        "pid": pid,
        "start": process_start(pid),
        "host": socket.gethostname(),
        "reason": "",
        "launcher_exit": None,
        "ended": False,
    }


def test_a_killed_launcher_leaves_no_descendant(begin):
    job = begin("have_family")
    for role in FAMILY:
        job.pid(role)
    os.kill(job.pid("launcher"), signal.SIGKILL)
    assert job.running.wait(60)
    assert not job.living()
    assert job.record()["launcher_exit"] == -signal.SIGKILL
    assert job.record()["reason"] == ""


def test_what_a_successful_launcher_leaves_is_swept(begin):
    job = begin("leave_family")
    assert job.running.wait(60)
    assert len(list((job.folder.root / "pids").iterdir())) == len(FAMILY)
    assert not job.living()
    assert job.record()["launcher_exit"] == 0


def test_nothing_stays_in_shared_memory_when_ranks_are_killed(begin):
    job = begin("share_memory")
    job.pid("ready")
    memory = Path("/dev/shm", (job.folder.root / "memory").read_text())
    assert memory.exists()
    job.running.interrupt("K")
    assert job.running.wait(60)
    assert not memory.exists()
    assert not job.living()


def test_a_launcher_ends_with_its_supervisor(begin, until):
    job = begin("wait_alone")
    job.pid("ready")
    os.kill(job.running.pid, signal.SIGKILL)
    assert job.running.wait(60)
    until(lambda: not job.living())
    assert job.record()["ended"] is False


def test_the_users_error_file_tells_of_a_killed_launcher(begin, tmp_path):
    target = tmp_path / "mine.json"
    job = begin("wait_alone", user_error_file=str(target))
    job.pid("ready")
    launcher = job.pid("launcher")
    os.kill(launcher, signal.SIGKILL)
    assert job.running.wait(60)
    message = json.loads(target.read_bytes())["message"]["message"]
    assert message == f"SignalException: Process {launcher} got signal: 9"


def test_an_error_file_that_cannot_be_written_is_noted(begin, tmp_path):
    job = begin("return_three", user_error_file=str(tmp_path / "nowhere" / "x.json"))
    assert job.running.wait(60)
    assert "TORCHELASTIC_ERROR_FILE cannot be written" in job.log()
    assert "nowhere" in job.log()
    assert job.record()["launcher_exit"] == 3


def test_a_folder_that_vanishes_stops_no_supervision(begin, tmp_path):
    job = begin("wait_alone")
    launcher = job.pid("ready")
    start = process_start(launcher)
    job.folder.root.rename(tmp_path / "elsewhere")
    job.running.interrupt("K")
    assert job.running.wait(60)
    assert process_start(launcher) != start


def test_a_folder_may_have_any_name(begin):
    job = begin("succeed", folder='a job\'s "folder" $HOME \N{SNOWMAN}')
    assert job.running.wait(60)
    assert job.record()["ended"] is True
