"""Reads the frames of ``values.pkl``, past those that fail."""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .buffers import Buffers
from .index import Frame, Index
from .salvage import salvage

__all__ = ["FrameReader"]


class FrameReader:
    """Loads frames with one memo, so that names share what they shared.

    An unpickler is of no use after a failure. The next one starts with what the
    good frames left in the memo, and with what can be saved of the bad one.

    Args:
        path: the file.
        index: the payload's index.
        buffers: its out-of-band memory.

    Attributes:
        value: what the last ``load`` that returned True has found.
        failures: why a name could not be loaded so far, by name.
    """

    def __init__(self, path: Path, index: Index, buffers: Buffers) -> None:
        self._file = path.open("rb")
        self._frames = index.frames
        self._feed = _Feed(index, buffers)
        self._memo: dict[int, object] = {}
        self._starts: list[int] = []  # memo index of each frame's first entry
        self._unpickler = pickle.Unpickler(self._file, buffers=self._feed)
        self._next: int | None = 0  # the frame at which the unpickler stands
        self.value: object = None
        self.failures: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def load(self, number: int) -> bool:
        """Load a frame; False if that fails, with the reason in ``failures``."""
        frame = self._frames[number]
        if self._starts:
            owner = self._missing(number)
            if owner is not None:
                self.failures[frame.name] = f"shares data with `{owner.name}`"
                return False
        if self._next != number:
            self._start_at(number)
        self._feed.position = frame.buffers
        try:
            (self.value,) = self._unpickler.load()
        except Exception as error:  # noqa: BLE001 - constructors may raise anything
            self.failures[frame.name] = f"{type(error).__name__}: {error}"
            self._after_failure(number)
            return False
        self.failures.pop(frame.name, None)
        self._next = number + 1
        if self._starts:
            self._harvest(number)
        return True

    def _start_at(self, number: int) -> None:
        """A new unpickler whose memo is as it was before frame *number*."""
        frame = self._frames[number]
        seed = _Seed(self._memo, self._starts[number])
        self._unpickler = pickle.Unpickler(seed, buffers=self._feed)
        # The seed pushes each object and memoizes it, then gives way to the file.
        self._unpickler.persistent_load = seed.persistent_load  # type: ignore[method-assign]
        self._unpickler.load()
        self._file.seek(frame.offset)
        seed.follow(self._file)

    def _after_failure(self, number: int) -> None:
        if not self._starts:
            self._starts = list(self._count())
            self._memo = dict(self._unpickler.memo.copy())  # type: ignore[attr-defined] # C
        self._next = None
        start = self._starts[number]
        for place in [place for place in self._memo if place >= start]:
            if place < self._starts[number + 1]:
                del self._memo[place]
        self._memo |= salvage(self._read(number), start, self._memo)

    def _harvest(self, number: int) -> None:
        memo = self._unpickler.memo.copy()  # type: ignore[attr-defined] # C
        places = range(self._starts[number], self._starts[number + 1])
        self._memo |= {place: memo[place] for place in places}

    def _missing(self, number: int) -> Frame | None:
        """A frame that has not been loaded and that frame *number* refers to."""
        for opcode, place, _ in pickletools.genops(self._read(number)):
            if "GET" in opcode.name and place not in self._memo:
                owner = self._owner(place)
                if owner != number:
                    return self._frames[owner]
        return None

    def _owner(self, place: Any) -> int:  # noqa: ANN401 - an opcode's argument
        return max(n for n, start in enumerate(self._starts[:-1]) if start <= place)

    def _count(self) -> Iterator[int]:
        """Where in the memo each frame begins, and where the last one ends."""
        total = 0
        for number in range(len(self._frames)):
            yield total
            opcodes = pickletools.genops(self._read(number))
            total += sum(opcode.name == "MEMOIZE" for opcode, _, _ in opcodes)
        yield total

    def _read(self, number: int) -> bytes:
        frame = self._frames[number]
        self._file.seek(frame.offset)
        return self._file.read(frame.size)
