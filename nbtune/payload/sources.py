"""The text of code that is in no file: cells travel with the functions they made."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["collect", "register"]


def collect(
    files: Iterable[str], numbers: Mapping[str, int]
) -> dict[str, tuple[str, int | None]]:
    """The text of each of *files* that only ``linecache`` has, and its ``In[n]``."""
    found = {}
    for name in files:
        entry = linecache.cache.get(name)
        # An entry of one item is a promise to read a module's source later.
        if entry is not None and len(entry) > 1 and not Path(name).exists():
            found[name] = ("".join(entry[2]), numbers.get(name))
    return found


def register(sources: Mapping[str, tuple[str, int | None]]) -> dict[str, int]:
    """Make the texts known to ``linecache``; the cell numbers that came along."""
    for name, (text, _) in sources.items():
        # Without a time, linecache does not look for a file. What this side has
        # under the same name is its own.
        entry = (len(text), None, text.splitlines(keepends=True), name)
        linecache.cache.setdefault(name, entry)
    return {name: n for name, (_, n) in sources.items() if n is not None}
