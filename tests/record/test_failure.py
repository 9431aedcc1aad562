"""Which of several failures was the cause."""

import signal

import pytest

from nbtune.record import (
    JobDir,
    RankExited,
    RankStopped,
    WorkerFailure,
    judge,
    read_failure,
    read_failures,
    write_failure,
)


def failed(rank, time_ns, **more):
    fields = {"exception": "ValueError", "message": "x", **more}
    return WorkerFailure(
        rank=rank, local_rank=rank, attempt=0, time_ns=time_ns, **fields
    )


def died(rank, time_ns, exitcode, **more):
    return WorkerFailure(
        rank=rank,
        local_rank=rank,
        attempt=0,
        time_ns=time_ns,
        exitcode=exitcode,
        **more,
    )


def exited(rank, time_ns, exitcode):
    return RankExited(time_ns=time_ns, attempt=0, rank=rank, exitcode=exitcode)


def folder_with_logs(tmp_path, *ranks):
    folder = JobDir(tmp_path)
    for rank in ranks:
        folder.log(0, rank).root.mkdir(parents=True)
    return folder


def test_nothing_failed_gives_no_verdict():
    assert judge([]) is None


def test_the_earlier_nanosecond_is_the_cause():
    verdict = judge([failed(0, 2, message="a"), failed(1, 1, message="b")])
    assert verdict.root.rank == 1
    assert [f.rank for f in verdict.others] == [0]


def test_a_broken_collective_is_a_consequence_even_when_it_is_earlier():
    verdict = judge([failed(0, 1, collective=True), died(1, 9, -9)])
    assert verdict.root.rank == 1
    assert [f.rank for f in verdict.consequences] == [0]


def test_a_broken_collective_alone_is_the_cause():
    verdict = judge([failed(0, 2, collective=True), failed(1, 1, collective=True)])
    assert verdict.root.rank == 1
    assert [f.rank for f in verdict.same] == [0]


def test_equal_errors_are_folded():
    verdict = judge([failed(rank, rank) for rank in range(8)])
    assert [f.rank for f in verdict.same] == list(range(1, 8))
    assert verdict.others == ()


def test_a_stopped_rank_is_never_the_cause():
    verdict = judge([died(0, 1, -9, stopped=True), failed(1, 2)])
    assert verdict.root.rank == 1


def test_sigterm_after_a_bad_end_is_the_agents(tmp_path):
    folder = folder_with_logs(tmp_path, 0, 1)
    failures = read_failures(folder, 0, [exited(1, 5, -9), exited(0, 6, -15)])
    verdict = judge(failures)
    assert verdict.root.rank == 1
    assert [f.rank for f in verdict.consequences] == [0]


def test_a_lone_sigterm_is_the_cause(tmp_path):
    folder = folder_with_logs(tmp_path, 0, 1)
    write_failure(folder.log(0, 0).failure, failed(0, 5, collective=True))
    verdict = judge(read_failures(folder, 0, [exited(1, 6, -15), exited(0, 7, 1)]))
    assert verdict.root.rank == 1
    assert verdict.root.signal == "SIGTERM"


def test_a_kill_of_our_own_is_a_consequence(tmp_path):
    folder = folder_with_logs(tmp_path, 0, 1)
    write_failure(folder.log(0, 0).failure, failed(0, 5))
    stop = RankStopped(time_ns=6, attempt=0, rank=1, signal=signal.SIGKILL)
    verdict = judge(read_failures(folder, 0, [stop, exited(1, 7, -9)]))
    assert verdict.root.rank == 0
    assert verdict.consequences[0].stopped


def test_events_of_another_attempt_do_not_count(tmp_path):
    folder = folder_with_logs(tmp_path, 0)
    old = RankExited(time_ns=1, attempt=1, rank=0, exitcode=-9)
    assert read_failures(folder, 0, [old]) == []


def test_a_record_survives_the_file(tmp_path):
    failure = failed(0, 1, message="no such file: \udc80\udcff", traceback="\x1b[31mx")
    write_failure(tmp_path / "failure.json", failure)
    assert read_failure(tmp_path / "failure.json") == failure
    assert failure.plain_traceback == "x"


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (died(1, 0, -signal.SIGSEGV), "rank 1 crashed (SIGSEGV)"),
        (died(1, 0, -signal.SIGKILL), "often the system ran out of memory"),
        (died(1, 0, 7), "exit code 7"),
        (died(1, 0, -signal.SIGTERM), "ended from outside (SIGTERM)"),
        (failed(1, 0), "rank 1 raised ValueError: x"),
        (failed(1, 0, exception="SystemExit", message="no model"), "exited with: no"),
        (failed(1, 0, exception="SystemExit", message="", exitcode=3), "3"),
    ],
)
def test_an_end_is_said_in_words(failure, words):
    assert words in failure.summary()


def test_a_long_message_is_one_short_line():
    text = failed(0, 1, message="y" * 2_000_000 + "\nmore").summary()
    assert len(text) < 300
    assert "\n" not in text
