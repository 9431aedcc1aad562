"""``values.pkl``: where the pickler writes, one frame a name."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

__all__ = ["FrameWriter"]

_CHUNK = 8 << 20  # bytes; so that an interrupt is served soon


class FrameWriter:
    """A file for a pickler, cut back when a frame fails.

    Args:
        path: the file, created; None to only count.

    Attributes:
        position: bytes written so far.
        error: why the file could not be written; the pickler raises it too, but
            then it cannot be told from an error of the value's own code.
    """

    def __init__(self, path: Path | None) -> None:
        self._file: BinaryIO | None = None if path is None else path.open("wb")
        self.position = 0
        self.error: OSError | None = None

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

    def write(self, data: bytes | memoryview) -> int:
        """Append *data*; its size in bytes.

        Raises:
            OSError: the file cannot be written.
        """
        view = memoryview(data).cast("B")
        try:
            for start in range(0, view.nbytes, _CHUNK):
                if self._file is not None:
                    self._file.write(view[start : start + _CHUNK])
        except OSError as error:
            self.error = error
            raise
        self.position += view.nbytes
        return view.nbytes

    def cut(self, position: int) -> None:
        """Remove what was written from *position* on.

        Raises:
            OSError: the file cannot be written.
        """
        if self._file is not None:
            self._file.seek(position)
            self._file.truncate()
        self.position = position
