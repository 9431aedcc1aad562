"""How much may be shown, so that a flood neither drowns the page nor is dropped.

A Jupyter server throws away what a kernel prints beyond a message and a byte
rate, without a word. So what is beyond ours stays in the file, and is counted.
"""

from __future__ import annotations

import itertools
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Allowance", "Gate"]

_LINES = 1_000  # shown at once
_LINES_PER_SECOND = 2_000
_BYTES = 500_000  # the same for bytes
_BYTES_PER_SECOND = 300_000
_TAIL = 20  # newest lines of a flood that are shown in its place
_TAIL_BYTES = 16_000
_CALM = 500  # lines a second of one stream that are no flood
_SETTLED = 0.3  # seconds of calm after which a flood is over
_GLIMPSE = 10.0  # seconds between two looks at a flood that goes on


class Allowance:
    """A token bucket for lines and for bytes, shared by all streams of a view."""

    def __init__(self, now: float) -> None:
        self.lines = float(_LINES)
        self.size = float(_BYTES)
        self._time = now

    def refill(self, now: float) -> None:
        """Let the time pass."""
        seconds, self._time = now - self._time, now
        self.lines = min(_LINES, self.lines + seconds * _LINES_PER_SECOND)
        self.size = min(_BYTES, self.size + seconds * _BYTES_PER_SECOND)

    def share(self, streams: int) -> Allowance:
        """An equal part, for one of *streams* that want to print now."""
        part = Allowance(self._time)
        part.lines, part.size = self.lines / streams, self.size / streams
        return part

    def spend(self, lines: Iterable[str]) -> None:
        """Take off what is printed, be it more than is there."""
        for line in lines:
            self.lines -= 1
            self.size -= _size(line)

    def fits(self, lines: Iterable[str]) -> int:
        """How many of *lines*, from the first on, are within the allowance."""
        size, count = self.size, 0
        for line in itertools.islice(lines, max(0, int(self.lines))):
            size -= _size(line)
            if size < 0:
                break
            count += 1
        return count


class Gate:
    """What one stream holds back.

    Args:
        where: path of the file with all of it.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._count = 0
        self._newest: deque[str] = deque(maxlen=_TAIL)
        self._time = 0.0
        self._flooded = False
        self._flood_at = 0.0
        self._shown_at = 0.0

    @property
    def holds(self) -> bool:
        """Whether something is held back."""
        return self._count > 0

    def admit(self, lines: list[str], allowance: Allowance, now: float) -> list[str]:
        """The lines to print now; the others are held back.

        Args:
            lines: what is new.
            allowance: this stream's part.
            now: seconds of the view's clock.
        """
        seconds, self._time = now - self._time, now
        if not self._flooded:
            fit = allowance.fits(lines)
            if fit < len(lines):
                self._flooded = True
                self._flood_at = self._shown_at = now
                self.hold(lines[fit:])
            return lines[:fit]
        self.hold(lines)
        if len(lines) > _CALM * seconds:
            self._flood_at = now
        over = now - self._flood_at >= _SETTLED
        due = over or now - self._shown_at >= _GLIMPSE
        if not due or not allowance.fits(self._newest):
            return []
        self._flooded = not over
        self._shown_at = now
        return self.release()

    def hold(self, lines: list[str]) -> None:
        """Keep *lines* back."""
        self._count += len(lines)
        self._newest.extend(lines[-_TAIL:])

    def release(self) -> list[str]:
        """A line that counts what is left out, and the newest lines."""
        count, newest = self._count, list(self._newest)
        self._count = 0
        self._newest.clear()
        while len(newest) > 1 and sum(map(_size, newest)) > _TAIL_BYTES:
            newest.pop(0)
        left_out = count - len(newest)
        if not left_out:
            return newest
        lines = "line" if left_out == 1 else "lines"
        word = f"... {left_out:,} {lines} left out, all of them in {self._where}"
        return [word, *newest]


def _size(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode("utf-8", "replace"))
