"""Bytes of a rank to whole lines of text, as a terminal would show them.

What stays is characters and colours. Carriage return, backspace, the erase codes
and small moves of the cursor act on lines that are not finished; every other
control is dropped, so that a rank's output can neither ring, rename nor clear
anything of the reader's.
"""

from __future__ import annotations

import codecs
import re

from .row import WIDTH, Row, shorten
from .sgr import RESET, next_style

__all__ = ["LineReader"]

_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n") + b"\x7f"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_C1 = re.compile(r"[\x80-\x9f]")
_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x08\x0a-\x1f\x7f-\x9f]+)"
    r"|\x1b\[(?P<codes>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\|(?=\n))"
    r"|\x1b[ -/]*[0-OQ-WYZ`-~]"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)\Z")
_COLOURED = re.compile(r"(?:[^\x00-\x08\x0a-\x1f\x7f-\x9f]+|\x1b\[[0-9;:]*m)*")
_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_LONGEST_CODE = 4_096  # characters held back for the end of an escape sequence
_BACK = 50  # lines above the cursor that it can still go back to
_STATES = 50  # newest states of a bar that are worth working out


class LineReader:
    """Takes bytes as they come, gives whole lines without line ends.

    A line is given when it ends; until then it can be written over. Lines that
    the cursor has left at the end of a ``feed`` are final.

    Args:
        where: path of the file, named where a line is too long to show.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._style = ""
        self._done: list[str] = []
        self._rows = [Row()]
        self._y = 0
        self._x = 0

    def feed(self, data: bytes) -> list[str]:
        """The lines that *data* finishes."""
        text = self._decoder.decode(data)
        plain = len(data.translate(None, _CONTROLS)) == len(data) and (
            text.isascii() or not _C1.search(text)
        )
        if plain and not self._style and not self._held and len(self._rows) == 1:
            return self._feed_plain(text)
        self._feed_pieces(self._without_unfinished(text))
        return self._take()

    def finish(self) -> list[str]:
        """The lines that nothing has ended."""
        self._feed_pieces(self._decoder.decode(b"", final=True))
        self._held = ""
        rows, self._rows, self._y, self._x = self._rows, [Row()], 0, 0
        while rows and not rows[-1].text(self._where):
            rows.pop()
        return self._take() + [row.text(self._where) for row in rows]

    def bars(self) -> list[str]:
        """The state of progress bars that have moved since this was asked last."""
        moved = [row for row in self._rows if row.rewritten and row.fresh]
        for row in moved:
            row.fresh = False
        return [text for row in moved if (text := row.text(self._where))]

    def _take(self) -> list[str]:
        self._freeze(self._y)
        done, self._done = self._done, []
        return done

    def _freeze(self, count: int) -> None:
        if count > 0:
            self._done += [row.text(self._where) for row in self._rows[:count]]
            del self._rows[:count]
            self._y -= count

    def _feed_plain(self, text: str) -> list[str]:
        first, *lines = text.split("\n")
        if first:
            self._put(first)
        if not lines:
            return []
        done = [self._rows[0].text(self._where)]
        self._rows, self._x = [Row()], 0
        last = lines.pop()
        if last:
            self._put(last)
        if lines and max(map(len, lines)) > WIDTH:
            lines = [self._short(line) for line in lines]
        return done + lines

    def _short(self, line: str) -> str:
        if len(line) <= WIDTH:
            return line
        return shorten(line[:WIDTH], len(line), self._where)

    def _without_unfinished(self, text: str) -> str:
        text = self._held + text
        self._held = ""
        found = _UNFINISHED.search(text)
        if found is None:
            return text
        held = found.group()
        if len(held) > _LONGEST_CODE:
            # An image or the like: what is dropped need not be kept. A sequence
            # of numbers that never ends is none.
            held = held[:2] if held[1] != "[" else ""
        self._held = held
        return text[: found.start()]

    def _feed_pieces(self, text: str) -> None:
        """Line by line, so that only the lines that need it are slow."""
        first, *pieces = text.replace("\r\n", "\n").split("\n")
        self._feed_tokens(first)
        for number, piece in enumerate(pieces, 1):
            self._newline()
            if number == len(pieces) or not self._feed_whole(piece):
                self._feed_tokens(piece)

    def _feed_whole(self, line: str) -> bool:
        """Take a line with nothing but colours in it, if nothing is below it."""
        if self._y < len(self._rows) - 1 or len(line) > WIDTH:
            return False
        if _COLOURED.fullmatch(line) is None:
            return False
        before = self._style
        for codes in _SGR.findall(line):
            self._style = next_style(self._style, codes)
        self._freeze(self._y)
        coloured = before or "\x1b" in line
        self._done.append(f"{before}{line}{RESET}" if coloured else line)
        self._whole = True
        return True
