"""``unpack``: read what ``pack`` wrote, each name on its own."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import sources
from .buffers import Buffers
from .index import Frame, Index, Reference, read_index
from .loading import LOADING, Loading
from .reader import FrameReader

__all__ = ["Unpacked", "unpack"]


@dataclass(slots=True, kw_only=True)
class Unpacked:
    """What ``unpack`` found.

    Attributes:
        values: what was asked for when it was packed.
        reached: the names that those use.
        failures: why a name could not be loaded, by name.
        classes: classes made while loading, by the key that ``pack`` gave them.
        numbers: the notebook's ``In[n]`` by file name; the texts of these files
            are in ``linecache``.
    """

    values: dict[str, object] = field(default_factory=dict)
    reached: dict[str, object] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    classes: dict[str, type] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)


def unpack(
    folder: Path,
    *,
    namespace: dict[str, object],
    known: Mapping[str, type] | None = None,
) -> Unpacked:
    """Read a payload.

    A name that cannot be loaded costs none of the others. While loading, names
    that *namespace* lacks are bound there, for code that runs meanwhile; in the
    end it is as it was.

    Args:
        folder: what ``pack`` wrote.
        namespace: the ``__dict__`` of this side's ``__main__``.
        known: classes that this side owns already, by key.

    Raises:
        OSError: there is no whole payload in *folder*.
    """
    index = read_index(folder)
    found = Unpacked(numbers=sources.register(index.sources))
    loading = Loading(
        namespace=namespace,
        known=known or {},
        views=index.views,
        segments=index.segments,
        buffers=Buffers(folder / "buffers.bin"),
        classes=found.classes,
    )
    token = LOADING.set(loading)
    try:
        with _Bindings(namespace) as bindings:
            _import_references(index, found, bindings)
            _load_frames(folder, index, found, bindings)
    finally:
        LOADING.reset(token)
    return found


class _Bindings(contextlib.AbstractContextManager["_Bindings"]):
    """Names that are bound in a namespace for a while."""

    def __init__(self, namespace: dict[str, object]) -> None:
        self._namespace = namespace
        self._bound: dict[str, object] = {}

    def bind(self, name: str, value: object) -> None:
        """Bind *name* unless the namespace has one of its own."""
        if name not in self._namespace:
            self._namespace[name] = self._bound[name] = value

    def __exit__(self, *_: object) -> None:
        for name, value in self._bound.items():
            # Code that ran meanwhile may have bound it to something else.
            if self._namespace.get(name) is value:
                del self._namespace[name]


def _import_references(index: Index, found: Unpacked, bindings: _Bindings) -> None:
    for reference in index.references:
        try:
            value = _import(reference)
        except Exception as error:  # noqa: BLE001 - a module may raise anything
            found.failures[reference.name] = f"{type(error).__name__}: {error}"
        else:
            _store(found, reference, value)
            bindings.bind(reference.name, value)


def _import(reference: Reference) -> object:
    module: object = importlib.import_module(reference.module)
    parts = reference.qualname.split(".") if reference.qualname else []
    return functools.reduce(getattr, parts, module)


def _load_frames(
    folder: Path, index: Index, found: Unpacked, bindings: _Bindings
) -> None:
    with FrameReader(folder / "values.pkl", index, LOADING.get().buffers) as reader:
        for frame, value in _rounds(reader, index.frames):
            _store(found, frame, value)
            bindings.bind(frame.name, value)
        found.failures |= reader.failures


def _rounds(reader: FrameReader, frames: list[Frame]) -> Iterator[tuple[Frame, object]]:
    """Load frames in order; try again those that may have come too early.

    What runs while a frame is loaded, for instance a ``__setstate__``, may use
    names whose frames come later.
    """
    waiting = list(range(len(frames)))
    while waiting:
        left = []
        for number in waiting:
            if reader.load(number):
                yield frames[number], reader.value
            else:
                left.append(number)
        if len(left) == len(waiting):
            return
        waiting = left


def _store(found: Unpacked, entry: Frame | Reference, value: object) -> None:
    (found.values if entry.root else found.reached)[entry.name] = value
