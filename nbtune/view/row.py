"""One line of a terminal that may still be written over."""

from __future__ import annotations

import itertools
import re

from .sgr import RESET, next_style

__all__ = ["WIDTH", "Row", "shorten"]

WIDTH = 2_000
"""Characters of a line that are shown; the rest is counted."""

_CODES = re.compile(r"\x1b\[([0-9;:]*)m")


def shorten(text: str, length: int, where: str) -> str:
    """*text*, the beginning of a line of *length* characters, with a word on that."""
    return f"{text} ... ({length:,} characters, all of them in {where})"


class Row:
    """Cells of a character and a style each.

    Attributes:
        length: characters of the line; only the first ``WIDTH`` are kept.
        rewritten: a carriage return or the like has changed what was there: this
            is a progress bar.
        fresh: changed since it was shown last.
    """

    __slots__ = ("_chars", "_styled", "_styles", "fresh", "length", "rewritten")

    def __init__(self) -> None:
        self._chars: list[str] = []
        self._styles: list[str] = []
        self._styled = False
        self.length = 0
        self.rewritten = False
        self.fresh = False

    @classmethod
    def again(cls, line: str) -> Row:
        """The row of a line that was whole and is now written over."""
        row, style = cls(), ""
        for number, part in enumerate(_CODES.split(line)):
            if number % 2:
                style = next_style(style, part)
            else:
                row.put(row.length, part, style)
        row.rewritten = True
        return row

    def put(self, column: int, text: str, style: str) -> None:
        """Write *text* over what is at *column*."""
        self.fresh = True
        self.rewritten = self.rewritten or column < self.length
        self._styled = self._styled or bool(style)
        self.length = max(self.length, column + len(text))
        if column >= WIDTH:
            return
        gap = column - len(self._chars)
        if gap > 0:
            self._chars += " " * gap
            self._styles += [""] * gap
        kept = text[: WIDTH - column]
        end = column + len(kept)
        self._chars[column:end] = kept
        self._styles[column:end] = [style] * len(kept)

    def erase(self, start: int, end: int | None = None) -> None:
        """Remove the cells from *start* on, or blank those before *end*."""
        self.fresh = self.rewritten = True
        if end is None:
            del self._chars[start:]
            del self._styles[start:]
            self.length = min(self.length, start)
            return
        end = min(end, len(self._chars))
        if end > start:
            self._chars[start:end] = " " * (end - start)
            self._styles[start:end] = [""] * (end - start)

    def text(self, where: str) -> str:
        """The line with its colours, closed; *where* is named if it is too long."""
        chars = self._chars
        if self.rewritten:
            # A bar is padded to cover its longer states.
            kept = len("".join(chars).rstrip(" "))
            chars = chars[:kept]
        text = self._coloured(chars) if self._styled else "".join(chars)
        return text if self.length <= WIDTH else shorten(text, self.length, where)

    def _coloured(self, chars: list[str]) -> str:
        parts, column = [], 0
        for style, run in itertools.groupby(self._styles[: len(chars)]):
            end = column + len(list(run))
            piece = "".join(chars[column:end])
            parts.append(f"{style}{piece}{RESET}" if style else piece)
            column = end
        return "".join(parts)
