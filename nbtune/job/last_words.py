"""What a rank left behind that died without an exception."""

from __future__ import annotations

import linecache
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from nbtune.record import Cell

from .torch_record import read_torch_record
from .wording import printable, shortened

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
    error, found, fatal = _tail(log.stderr).rpartition(_FATAL)
    if not found:
        error, fatal = fatal, ""
    fatal = _tail(log.crash).rpartition(_FATAL)[2] or fatal
    lines = _newest("stdout", _tail(log.stdout)) + _newest("stderr", error)
    if fatal:
        lines += [f"{_FATAL}{fatal.splitlines()[0]}", *_stack(fatal, spec)]
    message, stack = read_torch_record(log.error)
    if "\n" in stack:
        # It failed where our own record could not be written.
        where = os.fspath(log.error)
        lines += shortened(printable(stack.strip()), message=message, where=where)
    return lines or ["It wrote nothing before its end."]


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _TAIL))
            return stream.read(_TAIL).decode("utf-8", "replace")
    except OSError:
        return ""


def _newest(stream: str, text: str) -> list[str]:
    lines = [line for line in text.split("\n") if line.strip()][-_LINES:]
    if not lines:
        return []
    # Of a progress bar the state that was seen last.
    states = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines]
    shown = [f"  {printable(state[-_WIDTH:])}" for state in states]
    return [f"The last of its {stream}:", *shown]


def _stack(fatal: str, spec: LaunchSpec | None) -> list[str]:
    """The frames of the thread that crashed, down to the first of the user's."""
    lines = fatal.splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith("Current thread")]
    if not starts:
        return []
    shown = ["Its stack, the most recent call first:"]
    for line in lines[starts[0] + 1 :][:_FRAMES]:
        frame = _FRAME.fullmatch(line)
        if frame is None or _is_ours(frame["file"]):
            break
        shown += _frame(frame["file"], int(frame["line"]), frame["name"], spec)
    return shown


def _is_ours(file: str) -> bool:
    return file.endswith(_SHELL) or file.startswith(_PACKAGE)


def _frame(file: str, line: int, name: str, spec: LaunchSpec | None) -> list[str]:
    cell = _CELL.match(file)
    place = f"Cell In[{cell[1]}]" if cell else f'File "{file}"'
    shown = [printable(f"  {place}, line {line}, in {name}")]
    # Functions of earlier cells are in this kernel's own linecache.
    source = linecache.getline(file, line)
    entry = spec.entry if spec else None
    if cell and isinstance(entry, Cell) and int(cell[1]) == entry.execution_count:
        source = "".join(entry.source.splitlines(keepends=True)[line - 1 : line])
    return [*shown, f"    {source.strip()}"] if source.strip() else shown
