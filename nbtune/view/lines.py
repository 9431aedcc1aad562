"""Bytes of a rank to whole lines of text, as a terminal would show them.

What stays is characters and colours. Carriage return, backspace, the erase codes
and small moves of the cursor act on lines that are not shown yet; every other
control is dropped, so that a rank's output can neither ring, rename nor clear
anything of the reader's.
"""

from __future__ import annotations

import codecs
import re

from .row import WIDTH, Row, shorten
from .sgr import RESET, next_style

__all__ = ["LineReader"]

_NOTHING = bytes(code for code in range(32) if code not in b"\t\n\r\b\a\x1b") + b"\x7f"
_CODES = b"\r\b\a\x1b"
_C1 = re.compile(r"[\x80-\x9f]")
_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x08\x0a-\x1f\x7f-\x9f]+)"
    r"|\x1b\[(?P<codes>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|\Z)"
    r"|\x1b[ -/]*[0-OQ-WYZ`-~]"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)\Z")
_COLOURED = re.compile(r"(?:[^\x00-\x08\x0a-\x1f\x7f-\x9f]+|\x1b\[[0-9;:]*m)*")
_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_VERTICAL = re.compile(r"\x1b\[[0-9]*[ABEFJ]")
_LONGEST_CODE = 4_096  # characters held back for the end of an escape sequence
_SCREEN = 50  # lines that the cursor can move over
_STATES = 50  # newest states of a bar that are worth working out


class LineReader:
    """Takes bytes as they come, gives whole lines without line ends.

    Args:
        where: path of the file, named where a line is too long to show.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._style = ""
        self._done: list[str] = []
        # The line of the cursor, and those below it.
        self._rows = [Row()]
        self._column = 0
        self._climbed = 0

    def feed(self, data: bytes) -> list[str]:
        """The lines that *data* finishes."""
        # A hole in a file that was cut and written on reads as any number of NULs.
        data = data.translate(None, _NOTHING)
        text = self._decoder.decode(data)
        if self._settled and _is_plain(data, text):
            return self._feed_plain(text)
        self._feed_pieces(self._without_unfinished(text))
        return self._take()

    def finish(self) -> list[str]:
        """The lines that nothing has ended."""
        self._feed_pieces(self._decoder.decode(b"", final=True))
        rest = [row.text(self._where) for row in self._rows]
        while rest and not rest[-1]:
            rest.pop()
        lines = self._done + rest
        self._done, self._rows, self._column = [], [Row()], 0
        self._held = self._style = ""
        return lines

    def bars(self) -> list[str]:
        """The state of progress bars that have moved since this was asked last."""
        moved = [row for row in self._rows if row.rewritten and row.fresh]
        for row in moved:
            row.fresh = False
        return [text for row in moved if (text := row.text(self._where))]

    @property
    def _settled(self) -> bool:
        busy = self._style or self._held or self._done
        return not busy and len(self._rows) == 1

    def _take(self) -> list[str]:
        # A display of several lines, such as rich's, ends in a bar and goes back
        # up to its first line to draw the next state.
        keep = self._climbed if self._rows[0].rewritten else 0
        cut = max(0, len(self._done) - keep)
        lines, self._done = self._done[:cut], self._done[cut:]
        if not self._done:
            self._climbed = 0
        return lines

    def _feed_plain(self, text: str) -> list[str]:
        first, *lines = text.split("\n")
        if first:
            self._put(first)
        if not lines:
            return []
        done = self._rows[0].text(self._where)
        self._rows, self._column = [Row()], 0
        last = lines.pop()
        if last:
            self._put(last)
        if lines and max(map(len, lines)) > WIDTH:
            lines = [_short(line, self._where) for line in lines]
        return [done, *lines]

    def _without_unfinished(self, text: str) -> str:
        text = self._held + text
        self._held = ""
        found = _UNFINISHED.search(text)
        if found is None:
            return text
        held = found.group()
        if len(held) > _LONGEST_CODE:
            # An image or the like: what is dropped in the end need not be kept.
            # Numbers without an end are no sequence.
            held = "" if held[1] == "[" else held[:2]
        self._held = held
        return text[: found.start()]

    def _feed_pieces(self, text: str) -> None:
        """Line by line, so that only the lines that need it are slow."""
        *pieces, last = text.replace("\r\n", "\n").split("\n")
        for piece in pieces:
            if not self._feed_whole(piece):
                self._feed_tokens(piece)
                self._newline()
        self._feed_tokens(last)

    def _feed_whole(self, line: str) -> bool:
        """Take a line with nothing but colours in it, if the cursor's is empty."""
        row = self._rows[0]
        if len(self._rows) > 1 or self._column or row.length or row.rewritten:
            return False
        if len(line) > WIDTH or _COLOURED.fullmatch(line) is None:
            return False
        before = self._style
        self._follow_colours(line)
        self._done.append(f"{before}{line}{RESET if self._style else ''}")
        return True

    def _follow_colours(self, text: str) -> None:
        for codes in _SGR.findall(text):
            self._style = next_style(self._style, codes)

    def _feed_tokens(self, piece: str) -> None:
        older, *states = piece.rsplit("\r", _STATES)
        if len(states) == _STATES and not _VERTICAL.search(older):
            piece = "\r" + "\r".join(states)
            self._follow_colours(older)
        for token in _TOKEN.finditer(piece):
            match token.lastgroup:
                case "text":
                    self._put(token.group())
                case "final":
                    self._control_sequence(token["final"], token["codes"])
                case "control" if token.group() == "\r":
                    self._column = 0
                case "control" if token.group() == "\b":
                    self._column = max(0, self._column - 1)
                case _:
                    pass

    def _put(self, text: str) -> None:
        self._rows[0].put(self._column, text, self._style)
        self._column += len(text)

    def _newline(self) -> None:
        self._down(1)
        self._column = 0

    def _down(self, count: int) -> None:
        for _ in range(count):
            self._done.append(self._rows.pop(0).text(self._where))
            if not self._rows:
                self._rows.append(Row())

    def _up(self, count: int) -> None:
        self._climbed = max(self._climbed, count)
        for _ in range(count):
            if len(self._rows) > _SCREEN:
                return
            # A line that is shown already is drawn anew.
            self._rows.insert(0, Row.again(self._done.pop() if self._done else ""))

    def _control_sequence(self, final: str, codes: str) -> None:
        if final == "m":
            self._style = next_style(self._style, codes)
            return
        count = int(codes) if codes.isdigit() and len(codes) < len("1000") else 1
        match final:
            case "A" | "F":
                self._up(min(count, _SCREEN))
            case "B" | "E":
                self._down(min(count, _SCREEN))
            case "K" | "J":
                self._erase(final, codes)
            case _:
                self._sideways(final, count)
        if final in "EF":
            self._column = 0

    def _sideways(self, final: str, count: int) -> None:
        match final:
            case "C":
                self._column += count
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = max(0, count - 1)
            case _:
                pass

    def _erase(self, final: str, codes: str) -> None:
        row = self._rows[0]
        match codes:
            case "" | "0":
                row.erase(self._column)
                if final == "J":
                    del self._rows[1:]
            case "1" if final == "K":
                row.erase(0, self._column + 1)
            case "2" if final == "K":
                row.erase(0)
            case _:
                pass


def _is_plain(data: bytes, text: str) -> bool:
    """Whether there is nothing but characters, tabs and line ends."""
    # By far the fastest way to look for several bytes at once.
    if len(data.translate(None, _CODES)) < len(data):
        return False
    return text.isascii() or _C1.search(text) is None


def _short(line: str, where: str) -> str:
    return line if len(line) <= WIDTH else shorten(line[:WIDTH], len(line), where)
