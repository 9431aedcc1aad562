"""Where jobs live."""

import os
import socket
import stat

import pytest

from nbtune import OptionError
from nbtune.job import Home
from nbtune.record import JobFinished, encode, process_start, write_json


def home(tmp_path, **settings):
    return Home.of_environment({"NBTUNE_HOME": str(tmp_path / "home"), **settings})


def finish(folder, size=0):
    folder.events.write_bytes(encode(JobFinished(time_ns=1, state="SUCCEEDED")))
    (folder.root / "big").write_bytes(b"x" * size)


def keep_alive(folder):
    me = os.getpid()
    record = {"pid": me, "start": process_start(me), "host": socket.gethostname()}
    write_json(folder.supervisor, record)


def test_a_jobs_folder_is_for_its_user_alone(tmp_path):
    folder = home(tmp_path).new_job()
    assert stat.S_IMODE(folder.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.root.parent.stat().st_mode) == 0o700


def test_two_jobs_never_share_a_folder(tmp_path):
    one = home(tmp_path)
    assert len({one.new_job().id for _ in range(50)}) == 50


def test_old_finished_jobs_go_by_count(tmp_path):
    one = home(tmp_path, NBTUNE_KEEP_JOBS="2")
    for _ in range(4):
        finish(one.new_job())
    newest = one.folders()[:2]
    one.prune()
    assert one.folders() == newest


def test_old_finished_jobs_go_by_size(tmp_path):
    one = home(tmp_path, NBTUNE_KEEP_MB="1")
    for _ in range(3):
        finish(one.new_job(), size=600_000)
    one.prune()
    assert len(one.folders()) == 1


def test_a_running_or_new_job_is_never_removed(tmp_path):
    one = home(tmp_path, NBTUNE_KEEP_JOBS="0")
    running, packing, _ = one.new_job(), one.new_job(), one.new_job()
    keep_alive(running)
    one.prune()
    assert {running, packing} <= set(one.folders())


def test_a_home_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "home").write_text("a file is in the way")
    with pytest.raises(OptionError, match="set NBTUNE_HOME"):
        home(tmp_path).new_job()


@pytest.mark.parametrize("name", ["NBTUNE_KEEP_JOBS", "NBTUNE_KEEP_MB"])
def test_a_setting_that_is_no_number_is_named(tmp_path, name):
    with pytest.raises(OptionError, match=f"{name}=many"):
        home(tmp_path, **{name: "many"})
