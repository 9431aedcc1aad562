"""The launcher's journal."""

import pytest

from nbtune.record import (
    AttemptStarted,
    JobFinished,
    LauncherStarted,
    RankExited,
    RankStarted,
    RankStopped,
    encode,
    read_events,
)

ALL = [
    LauncherStarted(time_ns=1, pid=2),
    AttemptStarted(time_ns=2, attempt=0, endpoint="127.0.0.1:1"),
    RankStarted(time_ns=3, attempt=0, rank=1, pid=4),
    RankStopped(time_ns=4, attempt=0, rank=1, signal=9),
    RankExited(time_ns=5, attempt=0, rank=1, exitcode=-9),
    JobFinished(time_ns=6, state="FAILED", message="\udc80"),
]


def test_every_event_survives_the_file(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(map(encode, ALL)))
    assert read_events(path) == ALL


def test_a_line_that_is_cut_off_is_left_out_until_it_is_whole(tmp_path):
    path = tmp_path / "events.jsonl"
    whole = encode(ALL[0])
    for end in range(len(whole)):
        path.write_bytes(encode(ALL[1]) + whole[:end])
        assert read_events(path) == [ALL[1]]


@pytest.mark.parametrize("line", [b"{}", b"[1]", b'{"event": "Nope"}', b"\xff", b""])
def test_a_line_of_another_version_is_left_out(tmp_path, line):
    path = tmp_path / "events.jsonl"
    path.write_bytes(line + b"\n" + encode(ALL[0]))
    assert read_events(path) == [ALL[0]]


def test_a_missing_file_has_no_events(tmp_path):
    assert read_events(tmp_path / "none") == []
