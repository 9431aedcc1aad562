"""The user's ``TORCHELASTIC_ERROR_FILE``: filled at every end but success."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from nbtune.record import read_json, write_json

if TYPE_CHECKING:
    from nbtune.record import JobDir, LaunchSpec

__all__ = ["hand_over_error"]


def hand_over_error(
    folder: JobDir, spec: LaunchSpec, *, launcher: int, exitcode: int
) -> None:
    """Copy the job's error to the user's file, if there is one to fill.

    A launcher that could record nothing, because it was killed, gets a record
    in torch's format here.

    Args:
        folder: the job.
        spec: what the kernel asked for.
        launcher: the launcher's pid.
        exitcode: how it ended; negative for a signal.

    Raises:
        OSError: a file cannot be written.
    """
    if exitcode == 0 or not spec.user_error_file:
        return
    if read_json(folder.error) is None:
        write_json(folder.error, _unrecorded(launcher, exitcode))
    target = Path(spec.cwd, spec.user_error_file)
    _place(folder.error.read_bytes(), Path(os.path.realpath(target)))


def _unrecorded(launcher: int, exitcode: int) -> dict[str, object]:
    if exitcode < 0:
        text = f"SignalException: Process {launcher} got signal: {-exitcode}"
    else:
        text = f"SystemExit: Process {launcher} ended with exit code {exitcode}"
    extra = {
        "py_callstack": f"{text}\n(the launcher recorded no call stack)\n",
        "timestamp": str(int(time.time())),
    }
    return {"message": {"message": text, "extraInfo": extra}}


def _place(data: bytes, target: Path) -> None:
    if target.exists() and not target.is_file():
        # a device such as /dev/null, which must not be replaced by a file; a
        # FIFO that nobody reads must not stop us
        handle = os.open(target, os.O_WRONLY | os.O_NONBLOCK)
        with os.fdopen(handle, "wb", buffering=0) as stream:
            stream.write(data)
        return
    beside = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
