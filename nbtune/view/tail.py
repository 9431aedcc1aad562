"""Reading a file that grows, as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Tail"]


class Tail:
    """The end of a file that another process writes.

    No file is kept open, so that many ranks cost no descriptors.

    Args:
        path: the file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def read(self, limit: int) -> bytes:
        """At most *limit* bytes that have not been read; ``b""`` at the end.

        A file that has become shorter is read again from its beginning.
        """
        try:
            size = self.path.stat().st_size
            if size < self._offset:
                self._offset = 0
            if size == self._offset:
                return b""
            with self.path.open("rb", buffering=0) as stream:
                stream.seek(self._offset)
                data = stream.read(limit)
        except OSError:
            # Not there yet, or the user has removed it: nothing to read.
            return b""
        self._offset += len(data)
        return data
