"""What a rank left behind that died without an exception."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import TYPE_CHECKING

from nbtune.record import Cell

from .wording import printable

if TYPE_CHECKING:
    from nbtune.record import LaunchSpec, RankLog

__all__ = ["last_words"]

_TAIL = 65_536  # bytes at the end of a log that are looked at
_LINES = 10
_WIDTH = 500
_FRAMES = 40
_FATAL = "Fatal Python error: "
_FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)')
_CELL = re.compile(r"<ipython-input-(\d+)-")
_PACKAGE = str(Path(__file__).parent.parent)
_SHELL = "/IPython/core/interactiveshell.py"


def last_words(log: RankLog, spec: LaunchSpec | None) -> list[str]:
    """The last lines of both streams, and where a crash happened.

    Args:
        log: the rank's.
        spec: the job's, for the text of the cell's lines.
    """
    error, _, fatal = _tail(log.stderr).rpartition(_FATAL)
    if not fatal.startswith(tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")) or not error + fatal:
        error, fatal = error + fatal, ""
    lines = _newest("stdout", _tail(log.stdout)) + _newest("stderr", error)
    if fatal:
        lines += _stack(fatal, spec)
    return lines or ["it wrote nothing"]
