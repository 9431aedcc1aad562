"""Text of ranks and launchers, made fit to be read in a notebook."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["printable", "rank_list", "ranks", "shortened"]

_LONG = 4_000  # characters of a message or a line that are shown whole
_KEPT = 1_000  # characters of a longer one
_MANY = 300  # lines of a traceback that are shown whole
_HEAD, _FOOT = 200, 60  # lines of a longer one
_RESET = "\x1b[0m"
_CONTROL = re.compile(r"(?!\x1b\[[0-9;:]*m)[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """*text* with escapes for what cannot be encoded and for control codes.

    Colours, tabs and line ends stay.
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def shortened(text: str, *, message: str, where: str) -> list[str]:
    """The lines of a traceback, shortened where its message or a line is huge.

    Args:
        text: the traceback.
        message: the exception's text, which may be in it.
        where: path of a file with all of it.
    """
    if len(message) > _LONG:
        text = text.replace(message, _cut(message, where))
    lines = [_short(line, where) for line in text.split("\n")]
    if len(lines) <= _MANY:
        return lines
    left_out = len(lines) - _HEAD - _FOOT
    word = f"... {left_out:,} lines left out, all of them in {where}"
    return [*lines[:_HEAD], word, *lines[-_FOOT:]]


def _short(line: str, where: str) -> str:
    return line if len(line) <= _LONG else _cut(line, where)


def _cut(text: str, where: str) -> str:
    kept = text[:_KEPT]
    if "\x1b" in kept:
        # The cut may be within a code, and before the one that ends a colour.
        kept = re.sub(r"\x1b\[?[0-9;:]*\Z", "", kept) + _RESET
    return f"{kept} ... ({len(text):,} characters, all of them in {where})"


def rank_list(numbers: Iterable[int]) -> str:
    """``"0,2-7"`` for ranks 0 and 2 to 7."""
    parts = []
    runs = itertools.groupby(enumerate(sorted(numbers)), lambda item: item[1] - item[0])
    for _, run in runs:
        first, *rest = [number for _, number in run]
        if len(rest) > 1:
            parts.append(f"{first}-{rest[-1]}")
        else:
            parts += map(str, (first, *rest))
    return ",".join(parts)


def ranks(numbers: Iterable[int]) -> str:
    """``"rank 1"`` or ``"ranks 0,2-7"``."""
    numbers = list(numbers)
    return f"rank{'s' if len(numbers) > 1 else ''} {rank_list(numbers)}"
