"""The values that travel with a cell or a call, or the reasons why they cannot."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from nbtune.errors import CaptureError
from nbtune.payload import pack

from .submodules import submodules_used

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from nbtune.payload import Packed, Problem

    from .cell import CellText

__all__ = ["capture_call", "capture_cell", "size_line"]

_LARGE = 100_000_000  # bytes from which on the size is worth a line
_SHOWN = 3  # names in that line
_UNITS = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))
# What a module has of its own; the rank's __main__ has them too.
_MODULE_NAMES = frozenset(
    {
        "__annotations__",
        "__builtin__",
        "__builtins__",
        "__doc__",
        "__file__",
        "__loader__",
        "__name__",
        "__package__",
        "__spec__",
    }
)


def capture_cell(
    text: CellText,
    folder: Path | None,
    *,
    namespace: dict[str, object],
    hidden: Mapping[str, object],
    numbers: Mapping[str, int],
) -> Packed:
    """Pack the notebook's values that a cell uses.

    Args:
        text: the cell.
        folder: where the payload goes; None only measures.
        namespace: the notebook's names.
        hidden: IPython's own names and their values, which do not travel.
        numbers: ``In[n]`` by file name of earlier cells.

    Returns:
        What was packed. A name that the cell may assign itself and that cannot
        travel is left out with a warning.

    Raises:
        CaptureError: values that cannot travel, one line for each.
    """
    # The certain first: what both kinds reach counts as reached by those.
    names = sorted(text.names, key=text.unsure.__contains__)

    def travels(name: str, value: object) -> bool:
        own = name in _MODULE_NAMES or (name in hidden and hidden[name] is value)
        return not own

    roots = {
        name: namespace[name]
        for name in names
        if name in namespace and travels(name, namespace[name])
    }
    roots |= submodules_used(text.source, roots)
    packed = pack(roots, folder, namespace=namespace, follow=travels, numbers=numbers)
    via = packed.reached | {p.name: p.via for p in packed.problems if p.via}
    dispensable = [p for p in packed.problems if _root(p.name, via) in text.unsure]
    _refuse([p for p in packed.problems if p not in dispensable])
    notes = tuple(f"not sent, the cell may not need it: {p}" for p in dispensable)
    return dataclasses.replace(packed, warnings=packed.warnings + notes)


def capture_call(
    fn: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    folder: Path | None,
    *,
    namespace: dict[str, object],
) -> Packed:
    """Pack a function, its arguments and what they use of the notebook.

    Args:
        fn: any callable.
        args: its positional arguments.
        kwargs: its keyword arguments.
        folder: where the payload goes; None only measures.
        namespace: the names of ``__main__``.

    Raises:
        CaptureError: values that cannot travel, one line for each.
    """
    roots = {"fn": fn, "args": args, "kwargs": dict(kwargs)}
    packed = pack(roots, folder, namespace=namespace)
    _refuse(packed.problems)
    return packed


def size_line(packed: Packed) -> str:
    """One line that names the largest values, ``""`` below 100 MB."""
    total = sum(packed.sizes.values())
    if total < _LARGE:
        return ""
    largest = sorted(packed.sizes.items(), key=lambda item: -item[1])[:_SHOWN]
    shown = [f"{name} {_human(size)}" for name, size in largest if size * 100 >= total]
    return f"sending {_human(total)}: {', '.join(shown)}"


def _root(name: str, via: Mapping[str, str]) -> str:
    """The name in the cell through which *name* was reached."""
    while name in via:
        name = via[name]
    return name


def _refuse(problems: tuple[Problem, ...] | list[Problem]) -> None:
    if problems:
        raise CaptureError("\n".join(map(str, problems)))


def _human(size: int) -> str:
    for unit, word in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {word}"
    return f"{size} bytes"
