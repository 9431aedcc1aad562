"""Colours: what a chain of SGR codes (ECMA-48, 8.3.117) comes to."""

from __future__ import annotations

import functools

__all__ = ["RESET", "next_style"]

RESET = "\x1b[0m"

_ENDS = {22: (1, 2), 23: (3,), 24: (4, 21), 25: (5, 6), 27: (7,), 29: (9,)}
_FOREGROUND, _BACKGROUND, _LINE = "foreground", "background", "line"
_EXTENDED = {38: _FOREGROUND, 48: _BACKGROUND, 58: _LINE}
_DEFAULTS = {39: _FOREGROUND, 49: _BACKGROUND, 59: _LINE}
_RGB, _INDEXED = "2", "5"


@functools.lru_cache(maxsize=1024)
def next_style(style: str, codes: str) -> str:
    """The style after ``ESC [ codes m``, itself one short sequence.

    Args:
        style: the style so far, a result of this function; ``""`` for none.
        codes: the numbers between ``ESC [`` and ``m``.
    """
    active = _read(style[2:-1].split(";"), {}) if style else {}
    active = _read(codes.split(";"), active)
    return f"\x1b[{';'.join(active.values())}m" if active else ""


def _read(codes: list[str], active: dict[str, str]) -> dict[str, str]:
    waiting = list(reversed(codes))
    while waiting:
        code = waiting.pop()
        head = code.split(":", 1)[0]
        number = int(head) if head.isascii() and head.isdigit() else 0
        if number in _EXTENDED:
            code = _colour(code, waiting)
            if code:
                active[_EXTENDED[number]] = code
        else:
            active = _apply(number, code, active)
    return active


def _colour(code: str, waiting: list[str]) -> str:
    """A colour of several numbers; ``""`` if some are missing."""
    if ":" in code:
        return code
    kind = waiting.pop() if waiting else ""
    count = {_RGB: 3, _INDEXED: 1}.get(kind, 0)
    parts = [waiting.pop() for _ in range(min(count, len(waiting)))]
    whole = count and len(parts) == count and all(part.isdigit() for part in parts)
    return ";".join([code, kind, *parts]) if whole else ""


def _apply(number: int, code: str, active: dict[str, str]) -> dict[str, str]:
    match number:
        case 0:
            return {}
        case 1 | 2 | 3 | 4 | 5 | 6 | 7 | 9 | 21:
            # 8, concealed, is left out: what a rank prints is there to be read.
            active[str(number)] = code
        case _ if 30 <= number <= 37 or 90 <= number <= 97:  # noqa: PLR2004 - ECMA-48
            active[_FOREGROUND] = code
        case _ if 40 <= number <= 47 or 100 <= number <= 107:  # noqa: PLR2004 - ECMA-48
            active[_BACKGROUND] = code
        case _:
            gone = {str(ended) for ended in _ENDS.get(number, ())}
            gone.add(_DEFAULTS.get(number, ""))
            return {key: value for key, value in active.items() if key not in gone}
    return active
