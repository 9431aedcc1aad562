"""Reads the frames of ``values.pkl``, past those that fail."""

from __future__ import annotations

import io
import pickle
import pickletools
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

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
        self._unpickler = _Unpickler(self._file, self._feed, {})
        self._next: int | None = 0  # the frame at which the unpickler stands
        # Both are empty until the first failure: most payloads need neither.
        self._memo: dict[int, object] = {}
        self._starts: list[int] = []  # memo index of each frame's first entry
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
        owner = self._missing(number) if self._starts else None
        if owner is not None:
            self.failures[frame.name] = f"it shares data with `{owner.name}`"
            return False
        if self._next != number:
            self._unpickler = _Unpickler(self._file, self._feed, self._memo)
            self._unpickler.seed(self._starts[number])
        self._file.seek(frame.offset)
        self._feed.position = frame.buffers
        try:
            (self.value,) = self._unpickler.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - constructors may raise anything
            self.failures[frame.name] = f"{type(error).__name__}: {error}"
            self._after_failure(number)
            return False
        self.failures.pop(frame.name, None)
        self._next = number + 1
        if self._starts:
            self._harvest(number)
        return True

    def _after_failure(self, number: int) -> None:
        if not self._starts:
            self._starts = list(self._count())
            # A partial frame's entries are not whole.
            made = self._unpickler.entries()
            self._memo = {n: v for n, v in made.items() if n < self._starts[number]}
        self._next = None
        self._memo |= salvage(self._read(number), self._starts[number], self._memo)

    def _harvest(self, number: int) -> None:
        made = self._unpickler.entries()
        places = range(self._starts[number], self._starts[number + 1])
        self._memo |= {place: made[place] for place in places}

    def _missing(self, number: int) -> Frame | None:
        """A frame that has not been loaded and that frame *number* refers to."""
        for opcode, place, _ in pickletools.genops(self._read(number)):
            if opcode.name.endswith("BINGET") and place not in self._memo:
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


class _Unpickler(pickle.Unpickler):
    """An unpickler whose memo can be filled before it starts."""

    def __init__(
        self, file: BinaryIO, feed: _Feed, entries: Mapping[int, object]
    ) -> None:
        self._source = _Source(file)
        self._entries = entries
        super().__init__(self._source, buffers=feed)

    def persistent_load(self, pid: int) -> object:
        """An entry for the memo; frames themselves have no such ids."""
        return self._entries.get(pid)

    def seed(self, size: int) -> None:
        """Fill the memo up to *size* entries."""
        # The memo can be set, but the C unpickler then loses count of it. A
        # pickle that loads each entry and memoizes it is the way that works.
        steps = b"".join(
            pickle.BININT
            + struct.pack("<i", place)
            + pickle.BINPERSID
            + pickle.MEMOIZE
            + pickle.POP
            for place in range(size)
        )
        steps += pickle.NONE + pickle.STOP
        frame = pickle.PROTO + b"\x05" + pickle.FRAME + struct.pack("<Q", len(steps))
        file, self._source.file = self._source.file, io.BytesIO(frame + steps)
        self.load()
        self._source.file = file

    def entries(self) -> dict[int, object]:
        """The memo's entries by place."""
        memo: Any = self.memo
        entries: dict[int, object] = memo.copy()
        return entries


class _Source:
    """A file without ``peek``: an unpickler that peeks reads past its frame."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def read(self, size: int) -> bytes:
        return self.file.read(size)

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any writable buffer
        return self.file.readinto(buffer)  # type: ignore[attr-defined,no-any-return] # typeshed

    def readline(self) -> bytes:
        return self.file.readline()


class _Feed:
    """Out-of-band buffers in order, from any of them on."""

    def __init__(self, index: Index, buffers: Buffers) -> None:
        self._places = index.buffers
        self._buffers = buffers
        self.position = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> memoryview | bytearray:
        if self.position == len(self._places):
            raise StopIteration
        offset, size = self._places[self.position]
        self.position += 1
        return self._buffers.take(offset, size)
