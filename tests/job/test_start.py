"""Starting functions on ranks from Python."""

import os
import threading

import pytest

import nbtune
from nbtune.record import JobState


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("NBTUNE_HOME", str(tmp_path / "home"))


def rank_and_world():
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def fail_on_one():
    if os.environ["RANK"] == "1":
        raise ValueError("only here")


def sleep():
    threading.Event().wait(600)


def test_a_function_returns_from_every_rank():
    job = nbtune.launch(rank_and_world, nproc_per_node=2, name="try it")
    assert job.results() == [(0, 2), (1, 2)]
    assert job.result() == (0, 2)
    assert job.state is JobState.SUCCEEDED
    assert job.exception() is None
    assert not job.cancel()
    assert "try it" in repr(job)


def test_arguments_travel():
    job = nbtune.launch(lambda a, b: a + b, 1, 2, nproc_per_node=1)
    assert job.result() == 3


def test_a_ranks_error_is_raised_by_result():
    job = nbtune.launch(fail_on_one)
    with pytest.raises(nbtune.WorkerError, match="only here") as caught:
        job.result()
    assert caught.value.rank == 1
    assert caught.value.exception == "ValueError"
    assert isinstance(job.exception(), nbtune.WorkerError)


def test_a_job_can_be_cancelled():
    job = nbtune.launch(sleep, nproc_per_node=1)
    with pytest.raises(TimeoutError):
        job.result(timeout=0)
    assert job.cancel()
    assert job.wait()
    assert job.state is JobState.CANCELLED
    with pytest.raises(nbtune.JobCancelledError):
        job.result()


def test_jobs_of_this_home_are_listed_and_read_by_others():
    job = nbtune.launch(print, "hello", nproc_per_node=1)
    job.wait()
    (again,) = nbtune.jobs()
    assert again.id == job.id
    assert again.logs(0) == "hello\n"
    assert again.result() is None
    with pytest.raises(ValueError, match="no log of rank 5"):
        again.logs(5)


def test_a_job_that_takes_too_long_is_ended():
    job = nbtune.launch(sleep, nproc_per_node=1, timeout=0.5)
    with pytest.raises(nbtune.JobTimeoutError, match="timeout"):
        job.result()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bogus": 1}, "bogus"),
        ({"nproc_per_node": 0}, "nproc"),
        ({"nproc_per_node": "two"}, "two"),
    ],
)
def test_a_wrong_option_is_named_and_starts_nothing(options, words):
    with pytest.raises(nbtune.OptionError, match=words):
        nbtune.launch(print, **options)
    assert nbtune.jobs() == []


def test_what_cannot_travel_is_named_and_starts_nothing():
    with pytest.raises(nbtune.CaptureError, match="lock"):
        nbtune.launch(print, threading.Lock())
    assert nbtune.jobs() == []


def test_values_with_braces_and_dollars_are_taken_as_they_are():
    job = nbtune.launch(os.getenv, "A", nproc_per_node=1, env={"A": "{x} $y 'z'"})
    assert job.result() == "{x} $y 'z'"


def test_a_return_value_that_cannot_come_back_is_told_with_its_type():
    job = nbtune.launch(threading.Lock, nproc_per_node=1)
    with pytest.raises(nbtune.JobError, match=r"rank 0's value .*_thread\.lock"):
        job.result()
    assert job.state is JobState.SUCCEEDED
