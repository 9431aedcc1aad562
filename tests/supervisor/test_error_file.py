import json
import os

import pytest

from nbtune.record import Call, JobDir, LaunchSpec
from nbtune.supervisor.error_file import hand_over_error

RECORDED = b'{"message": {"message": "ValueError: boom", "extraInfo": {}}}'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "job").mkdir()
    return JobDir(tmp_path / "job")


@pytest.fixture
def ask(tmp_path):
    def ask(user_error_file):
        return LaunchSpec(
            entry=Call(),
            argv=(),
            nproc=1,
            cwd=str(tmp_path),
            user_error_file=str(user_error_file),
        )

    return ask


def test_the_recorded_error_is_copied_as_it_is(folder, ask, tmp_path):
    folder.error.write_bytes(RECORDED)
    hand_over_error(folder, ask(tmp_path / "mine.json"), launcher=7, exitcode=1)
    assert (tmp_path / "mine.json").read_bytes() == RECORDED
    assert sorted(os.listdir(tmp_path)) == ["job", "mine.json"]


def test_an_older_error_is_replaced(folder, ask, tmp_path):
    folder.error.write_bytes(RECORDED)
    (tmp_path / "mine.json").write_text("yesterday's")
    hand_over_error(folder, ask(tmp_path / "mine.json"), launcher=7, exitcode=1)
    assert (tmp_path / "mine.json").read_bytes() == RECORDED


def test_a_relative_path_counts_from_the_kernels_directory(folder, ask, tmp_path):
    folder.error.write_bytes(RECORDED)
    hand_over_error(folder, ask("mine.json"), launcher=7, exitcode=1)
    assert (tmp_path / "mine.json").read_bytes() == RECORDED


@pytest.mark.parametrize("half", [None, b'{"message": {"mess'])
def test_a_killed_launcher_gets_a_record_in_torchs_format(folder, ask, tmp_path, half):
    if half is not None:
        folder.error.write_bytes(half)
    hand_over_error(folder, ask(tmp_path / "mine.json"), launcher=7, exitcode=-9)
    record = json.loads((tmp_path / "mine.json").read_bytes())
    message = record["message"]
    assert message["message"] == "SignalException: Process 7 got signal: 9"
    assert message["extraInfo"]["py_callstack"]
    assert int(message["extraInfo"]["timestamp"]) > 0
    assert json.loads(folder.error.read_bytes()) == record


def test_an_exit_without_a_record_is_named_by_its_code(folder, ask, tmp_path):
    hand_over_error(folder, ask(tmp_path / "mine.json"), launcher=7, exitcode=3)
    record = json.loads((tmp_path / "mine.json").read_bytes())
    assert record["message"]["message"].endswith("Process 7 ended with exit code 3")


def test_success_writes_nothing(folder, ask, tmp_path):
    folder.error.write_bytes(RECORDED)
    hand_over_error(folder, ask(tmp_path / "mine.json"), launcher=7, exitcode=0)
    assert not (tmp_path / "mine.json").exists()


def test_without_a_users_file_nothing_is_written(folder, ask):
    hand_over_error(folder, ask(""), launcher=7, exitcode=-9)
    assert os.listdir(folder.root) == []


def test_a_folder_that_does_not_exist_is_an_oserror(folder, ask, tmp_path):
    folder.error.write_bytes(RECORDED)
    spec = ask(tmp_path / "nowhere" / "mine.json")
    with pytest.raises(FileNotFoundError):
        hand_over_error(folder, spec, launcher=7, exitcode=1)


def test_a_link_stays_a_link(folder, ask, tmp_path):
    folder.error.write_bytes(RECORDED)
    (tmp_path / "link.json").symlink_to(tmp_path / "target.json")
    hand_over_error(folder, ask(tmp_path / "link.json"), launcher=7, exitcode=1)
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "target.json").read_bytes() == RECORDED


def test_a_pipe_that_nobody_reads_is_an_oserror(folder, ask, tmp_path):
    folder.error.write_bytes(RECORDED)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"):
        hand_over_error(folder, ask(tmp_path / "pipe"), launcher=7, exitcode=1)
    assert not (tmp_path / "pipe").is_file()
