"""``supervisor.json``: who supervises a job, why and how it ended."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING

from nbtune.record import process_start, write_json

if TYPE_CHECKING:
    from nbtune.record import JobDir

__all__ = ["Diary", "note"]


def note(text: str) -> None:
    """Say something in ``launcher.log``, which is this process's stderr."""
    try:
        print(f"supervisor: {text}", file=sys.stderr)  # noqa: T201  # it is the log
    except OSError:
        return  # a full disk: nowhere left to say it


class Diary:
    """The supervisor's own record; it alone writes it."""

    def __init__(self, folder: JobDir) -> None:
        self._path = folder.supervisor
        self._record: dict[str, object] = {
            "pid": os.getpid(),
            "start": process_start(os.getpid()),
            "host": socket.gethostname(),
            "reason": "",
            "launcher_exit": None,
            "ended": False,
        }

    def begin(self) -> None:
        """Write the first record.

        Raises:
            OSError: the folder cannot be written; no job should be started.
        """
        write_json(self._path, self._record)

    def give_reason(self, reason: str) -> None:
        """Say why the job is ended; the first reason stays."""
        if not self._record["reason"]:
            self._change(reason=reason)

    def end(self, launcher_exit: int | None) -> None:
        """Say how the launcher ended, and that nothing of the job is left."""
        self._change(launcher_exit=launcher_exit, ended=True)

    def _change(self, **changes: object) -> None:
        self._record.update(changes)
        try:
            write_json(self._path, self._record)
        except OSError as error:  # no reason to leave the processes alone
            note(f"{self._path.name} cannot be written: {error}")
