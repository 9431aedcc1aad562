"""The supervisor's life: start the launcher, watch it, sweep, keep the record."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from nbtune.record import JobDir, read_spec

from .descendants import sweep
from .diary import Diary, note
from .error_file import hand_over_error
from .launcher_child import fork_launcher, reset_signals
from .prctl import adopt_orphans
from .watch import Watch

__all__ = ["main"]


def main() -> NoReturn:
    """Supervise one job: ``sys.argv`` is its folder, ``done``, launcher module.

    ``done`` is the number of a pipe's write end: a byte in it says that all of
    the job has ended. Its reader sees the end of this process as well.
    """
    code = 1
    try:
        folder, done, module = JobDir(Path(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
        _open_log()
        reset_signals()
        adopt_orphans()
        _supervise(folder, module, done)
        code = 0
    except BaseException:  # noqa: BLE001  # the process ends here; the log has it
        traceback.print_exc()
    finally:
        os._exit(code)


def _open_log() -> None:
    """Text of any alphabet goes into the log, whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                encoding="utf-8", errors="backslashreplace", line_buffering=True
            )


def _supervise(folder: JobDir, module: str, done: int) -> None:
    spec = read_spec(folder.spec)
    diary = Diary(folder)
    diary.begin()
    watch = Watch(fork_launcher(folder, module, done=done), spec, diary)
    try:
        watch.run()
    finally:
        left = sweep(watch.reap)
    if left:
        note(f"not even SIGKILL ended these processes: {left}")
    if spec is not None and watch.exitcode is not None:
        try:
            hand_over_error(
                folder, spec, launcher=watch.launcher, exitcode=watch.exitcode
            )
        except OSError as error:
            note(f"TORCHELASTIC_ERROR_FILE cannot be written: {error}")
    # What was sent can be large, and nobody needs it any more.
    shutil.rmtree(folder.payload, ignore_errors=True)
    diary.end(watch.exitcode)
    with contextlib.suppress(BrokenPipeError):  # the kernel is gone
        os.write(done, b".")
