"""``buffers.bin``: the memory of tensors and arrays, outside the pickles."""

from __future__ import annotations

import mmap
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

__all__ = ["BufferWriter", "Buffers"]

_ALIGNMENT = 64  # bytes; as torch aligns its own memory
_CHUNK = 8 << 20  # bytes; so that an interrupt is served soon
_BIG = 1 << 20  # bytes; from here on memory is mapped instead of copied


class BufferWriter:
    """Writes buffers one after the other.

    Args:
        path: the file, created; None to only count.
    """

    def __init__(self, path: Path | None) -> None:
        self._file: BinaryIO | None = None if path is None else path.open("wb")
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, view: memoryview) -> tuple[int, int]:
        """Write *view* straight from its memory; its offset and size in bytes.

        Raises:
            OSError: the file cannot be written.
        """
        offset = -(-self._end // _ALIGNMENT) * _ALIGNMENT
        size = view.nbytes
        if self._file is not None and size:
            self._file.seek(offset)
            flat = view.cast("B")
            for start in range(0, size, _CHUNK):
                self._file.write(flat[start : start + _CHUNK])
        self._end = offset + size
        return offset, size


class Buffers:
    """Reads buffers: big ones as private memory of the file, small ones copied.

    What is written into them stays in this process.
    """

    def __init__(self, path: Path) -> None:
        self._memory: mmap.mmap | None = None
        with path.open("rb") as file:
            if path.stat().st_size:
                self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)

    @staticmethod
    def is_big(size: int) -> bool:
        """Whether a buffer of *size* bytes is mapped."""
        return size >= _BIG

    def view(self, offset: int, size: int) -> memoryview:
        """Writable memory of the file, private to this process."""
        if self._memory is None:
            return memoryview(bytearray())
        return memoryview(self._memory)[offset : offset + size]

    def take(self, offset: int, size: int) -> memoryview | bytearray:
        """A buffer for an unpickler."""
        view = self.view(offset, size)
        return view if self.is_big(size) else bytearray(view)
