"""What a rank writes down of its failure."""

import json

import pytest

from nbtune.launcher.failing import RankPlace, record_failure, wait_for_peers
from nbtune.record import JobDir, read_failure, write_json


@pytest.fixture
def place(tmp_path):
    folder = JobDir(tmp_path)
    for rank in range(3):
        folder.rank(rank).mkdir(parents=True)
    folder.log(0, 1).root.mkdir(parents=True)
    return RankPlace(folder=folder, rank=1, local_rank=1, attempt=0, pid=1)


def record(place, error):
    code = record_failure(place, error, "\x1b[31mtraceback\x1b[0m", 5_000_000_007)
    return code, read_failure(place.folder.log(0, 1).failure)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SystemExit(3), 3, ""),
        (SystemExit(256), 1, ""),
        (SystemExit(-1), 255, ""),
        (SystemExit("no model"), 1, "no model"),
        (KeyError("lr"), 1, "'lr'"),
        (KeyboardInterrupt(), 1, ""),
    ],
)
def test_an_error_gives_its_exit_code_and_text(place, error, code, message):
    found, failure = record(place, error)
    assert found == failure.exitcode == code
    assert failure.message == message
    assert failure.exception == type(error).__name__


def test_torchs_record_has_torchs_format(place):
    record(place, ValueError("x \udc80"))
    data = json.loads(place.folder.log(0, 1).error.read_text())
    assert data["message"]["message"] == "ValueError: x \udc80"
    extra = {"py_callstack": "traceback", "timestamp": "5"}
    assert data["message"]["extraInfo"] == extra


@pytest.mark.parametrize(
    ("text", "collective"),
    [
        ("[gloo/transport/tcp/pair.cc:547] Connection closed by peer", True),
        ("NCCL error in ProcessGroupNCCL.cpp", True),
        ("shapes do not match", False),
    ],
)
def test_an_error_that_tells_of_a_lost_peer_is_marked(place, text, collective):
    error = RuntimeError(text)
    assert record(place, error)[1].collective is collective
    outer = ValueError("step failed")
    outer.__cause__ = error
    assert record(place, outer)[1].collective is collective


def test_errors_that_refer_to_each_other_come_to_an_end(place):
    one, two = ValueError("a"), ValueError("b")
    one.__context__, two.__context__ = two, one
    assert record(place, one)[1].collective is False


def test_a_rank_waits_for_peers_that_are_writing_their_records(place):
    write_json(place.folder.status(0), {"state": "finished", "attempt": 0})
    write_json(place.folder.status(2), {"state": "failing", "attempt": 0})
    import threading

    peers = threading.Thread(target=wait_for_peers, args=(place, 3))
    peers.start()
    peers.join(timeout=0.1)
    assert peers.is_alive()
    write_json(place.folder.status(2), {"state": "failed", "attempt": 0})
    peers.join(timeout=30)
    assert not peers.is_alive()
