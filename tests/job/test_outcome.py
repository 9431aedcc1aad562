"""The end of a job as an error. Job folders are written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nbtune.errors import (
    JobCancelledError,
    JobLostError,
    JobTimeoutError,
    LaunchError,
)
from nbtune.job.outcome import error_of
from nbtune.record import (
    LauncherStarted,
    read_snapshot,
    write_json,
)

if TYPE_CHECKING:
    pass

from tests.job.folders import Folder


def test_success_is_no_error(folder: Folder):
    folder.start()
    folder.exit(0, 0)
    folder.finish("SUCCEEDED")
    assert error_of(folder.dir, read_snapshot(folder.dir), spec=folder.spec) is None


def test_an_error_of_the_launcher_is_told_without_ranks(folder: Folder):
    folder.event(LauncherStarted, pid=1)
    folder.finish(message="ValueError: rdzv backend nosuch\nnot registered")
    error = folder.error()
    assert isinstance(error, LaunchError)
    assert str(error) == "the launcher failed: ValueError: rdzv backend nosuch"
    assert "rank" not in folder.shown()


def test_a_launcher_that_ended_without_a_record_is_told_by_its_log(folder: Folder):
    folder.supervisor(launcher_exit=1)
    folder.dir.launcher_log.write_text(
        "Traceback (most recent call last):\n  ...\nImportError: no torch\nbye\n"
    )
    assert str(folder.error()) == "the launcher failed: ImportError: no torch"
    assert str(folder.dir.launcher_log) in folder.shown()


def test_a_job_of_which_nothing_is_known_did_not_launch(folder: Folder):
    assert str(folder.error()) == "the launcher failed: it left no word why"


def test_a_port_in_use_is_told_in_words(folder: Folder):
    folder.event(LauncherStarted, pid=1)
    folder.finish(
        message="DistNetworkError: The server socket has failed to listen on any "
        "local network address. port: 29644, useIpv6: false, code: -98, "
        "name: EADDRINUSE, message: address already in use"
    )
    assert str(folder.error()) == (
        "the launcher failed: port 29644 is in use; name another one, "
        "or none to get a free one"
    )


def test_the_inner_error_of_a_rendezvous_is_told(folder: Folder):
    folder.event(LauncherStarted, pid=1)
    line = "RendezvousConnectionError: See inner exception for details."
    stack = f"...\ntorch.DistStoreError: timed out\n\nThe above ...\n{line}\n"
    extra = {"py_callstack": stack, "timestamp": "1"}
    write_json(folder.dir.error, {"message": {"message": line, "extraInfo": extra}})
    folder.finish(message=line)
    assert str(folder.error()) == (
        f"the launcher failed: {line} (torch.DistStoreError: timed out)"
    )


@pytest.mark.parametrize(
    ("exitcode", "words"),
    [
        (-9, "the launcher was killed (SIGKILL), often the system ran out of memory"),
        (-15, "the launcher was ended from outside (SIGTERM)"),
        (-11, "the launcher crashed (SIGSEGV)"),
    ],
)
def test_a_launcher_that_was_killed_is_lost(folder: Folder, exitcode: int, words: str):
    folder.start()
    folder.supervisor(launcher_exit=exitcode)
    error = folder.error()
    assert isinstance(error, JobLostError)
    assert str(error) == words
    assert folder.shown() == f"JobLostError: {words}"


def test_a_launcher_that_recorded_its_signal_is_lost_too(folder: Folder):
    folder.start()
    folder.finish("CANCELLED", "SignalException: Process 7 got signal: 15")
    folder.supervisor(launcher_exit=1)
    assert str(folder.error()) == "the launcher was ended from outside (SIGTERM)"


def test_a_supervisor_that_was_killed_is_told(folder: Folder):
    folder.start()
    folder.supervisor(ended=False)
    assert isinstance(folder.error(), JobLostError)
    assert "supervisor was killed" in str(folder.error())


def test_a_time_out_names_the_option_and_where_the_ranks_were(folder: Folder):
    folder.start()
    for rank in range(2):
        folder.fail(rank, "KeyboardInterrupt", "", traceback="Cell In[3], line 2")
    folder.finish("CANCELLED", "SignalException: Process 7 got signal: 2")
    folder.supervisor(reason="timeout", launcher_exit=1)
    error = folder.error()
    assert isinstance(error, JobTimeoutError)
    assert isinstance(error, TimeoutError)
    assert str(error) == "the job ran longer than --timeout 3 s and was ended"
    assert folder.shown().splitlines()[1:] == [
        "ranks 0,1 were here:",
        "Cell In[3], line 2",
    ]


def test_a_failure_before_a_time_out_is_told(folder: Folder):
    folder.start()
    folder.fail(1, "ValueError", "cause")
    folder.supervisor(reason="timeout", launcher_exit=-9)
    assert "Before that, rank 1 failed: ValueError: cause" in folder.shown()


@pytest.mark.parametrize("state", ["CANCELLED", "FAILED"])
def test_a_stopped_job_is_cancelled_whatever_the_ranks_raised(
    folder: Folder, state: str
):
    folder.start()
    folder.fail(0, "KeyboardInterrupt", "")
    folder.finish(state)
    folder.supervisor(reason="cancel", launcher_exit=1)
    assert isinstance(folder.error(), JobCancelledError)
    assert folder.shown() == "JobCancelledError: the job was stopped before its end"


def test_a_job_without_spec_has_an_error_too(folder: Folder):
    folder.start()
    folder.fail(0, "ValueError", "x")
    folder.finish()
    error = error_of(folder.dir, read_snapshot(folder.dir), spec=None)
    assert error is not None
    assert "(job job)" in error._render_traceback_()[0]
