"""What a notebook shows of a failed rank. Job folders are written by hand."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from nbtune.errors import (
    WorkerError,
)
from nbtune.record import (
    RankExited,
    RankStopped,
    write_json,
)

if TYPE_CHECKING:
    pass

from tests.job.folders import TRACEBACK, Folder


def test_the_traceback_of_the_rank_is_shown_as_it_was_rendered(folder: Folder):
    folder.start()
    folder.fail(1, "KeyError", "'lr'", traceback=TRACEBACK)
    folder.finish()
    shown = folder.shown()
    assert shown == f"rank 1 failed: KeyError: 'lr'  (job fit)\n{TRACEBACK}"


def test_the_error_has_the_attributes_of_the_rank_that_failed(folder: Folder):
    folder.start()
    colored = TRACEBACK.replace("KeyError", "\x1b[31mKeyError\x1b[39m")
    folder.fail(1, "KeyError", "'lr'", traceback=colored)
    folder.dir.log(0, 1).error.write_text("{}")
    folder.finish()
    error = folder.error()
    assert isinstance(error, WorkerError)
    assert str(error) == "rank 1 raised KeyError: 'lr'"
    assert (error.rank, error.local_rank, error.exitcode) == (1, 1, 1)
    assert (error.exception, error.message, error.signal) == ("KeyError", "'lr'", "")
    assert error.traceback == TRACEBACK
    assert error.error_file == os.fspath(folder.dir.log(0, 1).error)
    assert error.failures == ()


def test_a_lost_peer_is_a_consequence_in_a_line(folder: Folder):
    folder.start()
    folder.fail(0, "RuntimeError", "Connection closed by peer\nmore", collective=True)
    folder.fail(1, "ValueError", "real cause")
    folder.finish()
    lines = folder.shown().splitlines()
    assert lines[0] == "rank 1 failed: ValueError: real cause  (job fit)"
    assert lines[-2:] == [
        "others:",
        "  rank 0 lost its peer: RuntimeError: Connection closed by peer ...",
    ]
    error = folder.error()
    assert isinstance(error, WorkerError)
    assert [failure.rank for failure in error.failures] == [0]


def test_equal_failures_are_shown_once(folder: Folder):
    folder.start(8)
    for rank in (3, 0, 1, 2, 4, 5, 6, 7):
        folder.fail(rank, "RuntimeError", "same everywhere")
    folder.finish()
    shown = folder.shown()
    assert "(job fit, also on ranks 0-2,4-7)" in shown
    assert shown.count("same everywhere") == 2
    assert "others" not in shown


def test_different_failures_and_stopped_ranks_are_a_line_each(folder: Folder):
    folder.start(5)
    folder.fail(2, "ValueError", "first")
    folder.fail(4, "KeyError", "'x'")
    folder.event(RankStopped, attempt=0, rank=0, signal=9)
    for rank in (0, 1, 3):
        folder.event(RankStopped, attempt=0, rank=rank, signal=9)
        folder.exit(rank, -signal.SIGKILL)
    folder.finish()
    assert folder.shown().splitlines()[-3:] == [
        "others:",
        "  rank 4 raised KeyError: 'x'",
        "  ranks 0,1,3 were stopped",
    ]


def test_only_the_newest_attempt_counts(folder: Folder):
    folder.start()
    folder.fail(0, "ValueError", "old")
    folder.start(attempt=1)
    folder.event(RankExited, attempt=1, rank=1, exitcode=7)
    folder.finish()
    header = folder.shown().splitlines()[0]
    assert header == "rank 1 ended with exit code 7, without an exception  (job fit)"


@pytest.mark.parametrize(
    ("message", "exitcode", "words"),
    [
        ("config has no model section", 1, "exited with: config has no model section"),
        ("", 3, "exited with exit code 3"),
    ],
)
def test_sys_exit_is_told_with_its_line(
    folder: Folder, message: str, exitcode: int, words: str
):
    folder.start()
    folder.fail(1, "SystemExit", message, traceback="SystemExit\nCell In[3], line 2")
    folder.exit(1, exitcode)
    folder.finish()
    lines = folder.shown().splitlines()
    assert lines[0] == f"rank 1 {words}  (job fit)"
    assert "Cell In[3], line 2" in lines
    assert str(folder.error()) == f"rank 1 {words}"


def test_a_crash_shows_the_stack_with_the_lines_of_the_cell(folder: Folder):
    folder.start()
    folder.dir.log(0, 1).stdout.write_bytes(b"epoch 1\n 1%|\r 2%|\n")
    folder.dir.log(0, 1).stderr.write_bytes(
        b"a warning\n"
        b"Fatal Python error: Segmentation fault\n\n"
        b"Thread 0x01 (most recent call first):\n"
        b'  File "/lib/threading.py", line 982 in run\n\n'
        b"Current thread 0x02 (most recent call first):\n"
        b'  File "/lib/ctypes/__init__.py", line 519 in string_at\n'
        b'  File "<ipython-input-3-abcdef>", line 3 in <module>\n'
        b'  File "/lib/IPython/core/interactiveshell.py", line 3748 in run_code\n'
        b'  File "/lib/IPython/core/interactiveshell.py", line 3748 in run_cell\n\n'
        b"Extension modules: numpy (total: 1)\n"
    )
    folder.exit(1, -signal.SIGSEGV)
    folder.exit(0, -signal.SIGTERM)
    folder.finish()
    assert folder.shown().splitlines() == [
        "rank 1 crashed (SIGSEGV)  (job fit)",
        "The last of its stdout:",
        "  epoch 1",
        "   2%|",
        "The last of its stderr:",
        "  a warning",
        "Fatal Python error: Segmentation fault",
        "Its stack, the most recent call first:",
        '  File "/lib/ctypes/__init__.py", line 519, in string_at',
        "  Cell In[3], line 3, in <module>",
        "    crash()",
        "others:",
        "  rank 0 was stopped",
    ]
    error = folder.error()
    assert isinstance(error, WorkerError)
    assert (error.signal, error.exitcode) == ("SIGSEGV", -11)


def test_a_kill_is_told_with_its_likely_cause_and_the_last_lines(folder: Folder):
    folder.start()
    text = b"".join(b"step %d\n" % step for step in range(100))
    folder.dir.log(0, 1).stdout.write_bytes(text)
    folder.exit(1, -signal.SIGKILL)
    folder.finish()
    header, *lines = folder.shown().splitlines()
    assert header.startswith(
        "rank 1 was killed (SIGKILL), often the system ran out of memory"
    )
    assert lines[1:] == [f"  step {step}" for step in range(90, 100)]


def test_a_death_that_is_seen_after_the_agents_stops_is_still_the_cause(folder: Folder):
    folder.start()
    folder.event(RankStopped, attempt=0, rank=1, signal=15)
    folder.exit(0, -signal.SIGTERM)
    folder.exit(1, -signal.SIGKILL)
    folder.finish()
    error = folder.error()
    assert isinstance(error, WorkerError)
    assert (error.rank, error.signal) == (1, "SIGKILL")
    assert folder.shown().endswith("rank 0 was stopped")


def test_a_rank_that_died_without_a_word_says_so(folder: Folder):
    folder.start()
    folder.exit(0, 7)
    folder.finish()
    assert folder.shown().splitlines() == [
        "rank 0 ended with exit code 7, without an exception  (job fit)",
        "It wrote nothing before its end.",
    ]


def test_an_error_that_torch_alone_recorded_is_shown(folder: Folder):
    folder.start()
    extra = {
        "py_callstack": "Traceback:\n  frame\nOSError: disk full",
        "timestamp": "1",
    }
    record = {"message": {"message": "OSError: disk full", "extraInfo": extra}}
    write_json(folder.dir.log(0, 0).error, record)
    folder.exit(0, 1)
    folder.finish()
    assert folder.shown().splitlines()[1:] == [
        "Traceback:",
        "  frame",
        "OSError: disk full",
    ]


def test_a_two_megabyte_message_is_shortened_with_its_length(folder: Folder):
    message = "x" * 2_000_000
    folder.start()
    folder.fail(0, "RuntimeError", message)
    folder.finish()
    error = folder.error()
    shown = folder.shown()
    record = folder.dir.log(0, 0).failure
    assert len(shown) < 3_000
    assert f"(2,000,000 characters, all of them in {record})" in shown
    assert isinstance(error, WorkerError)
    assert error.message == message
    assert len(str(error)) < 300


def test_a_message_of_very_many_lines_is_shortened(folder: Folder):
    folder.start()
    folder.fail(0, "RuntimeError", "head", traceback="line\n" * 10_000 + "the end")
    folder.finish()
    lines = folder.shown().splitlines()
    assert len(lines) < 300
    assert any("9,741 lines left out, all of them in" in line for line in lines)
    assert lines[-1] == "the end"


def test_text_that_cannot_be_encoded_is_shown_with_escapes(folder: Folder):
    folder.start()
    folder.fail(0, "ValueError", "no such file: \udc80\udcff.pt\0\x1b[2J")
    folder.finish()
    shown = folder.shown()
    assert shown.count("no such file: \\udc80\\udcff.pt\\x00\\x1b[2J") == 2
    assert "\\udc80" in str(folder.error())
    str(folder.error()).encode()


def test_colours_of_a_traceback_stay(folder: Folder):
    folder.start()
    colored = TRACEBACK.replace("KeyError", "\x1b[31mKeyError\x1b[39m")
    folder.fail(1, "KeyError", "'lr'", traceback=colored)
    folder.finish()
    assert colored in folder.shown()


def test_an_error_without_frames_is_said_once(folder: Folder):
    folder.start()
    message = "could not load `obj`: No module named 'ghost' (/bin/python)"
    folder.fail(0, "PayloadError", message, traceback=f"PayloadError: {message}")
    folder.finish()
    assert folder.shown() == f"rank 0 failed: PayloadError: {message}  (job fit)"


def test_the_ranks_own_keyboard_interrupt_is_its_failure(folder: Folder):
    folder.start()
    folder.fail(0, "KeyboardInterrupt", "")
    folder.finish()
    assert str(folder.error()) == "rank 0 raised KeyboardInterrupt"
