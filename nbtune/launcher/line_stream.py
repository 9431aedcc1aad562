"""A text stream with each line on disk at once, and a file's speed in a flood."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LineStream"]

_CHUNK = 2048  # bytes; what a crash in the middle of a flood may cost
# Lines between two ticks that make a flood: a burst before a crash is no flood,
# one that goes on after a tick is known at once.
_FLOOD, _STILL_FLOOD = 512, 32
_NEVER = sys.maxsize


class _Queue(io.BufferedIOBase):
    """What ``TextIOWrapper`` writes to: blocks on their way into a file.

    ``write`` is most of the time the queue's own ``append``. That never lets
    another thread run, which matters: while a ``TextIOWrapper`` of Python 3.11
    waits for a ``write``, text from other threads is lost.
    """

    # A plain attribute: the text stream asks for it at every single write.
    closed = False

    def __init__(self, fd: int, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self.error: OSError | None = None
        self._fd = fd
        self._blocks: deque[bytes] = deque()
        self._flushes, self._limit = 0, _NEVER
        self._flooded: Callable[[], None] = _nothing
        self.keep()

    def keep(self) -> None:
        """Keep blocks until the next flush."""
        self._set_write(self._blocks.append)

    def write_through(self) -> None:
        """Write blocks as they come, if no other thread may lose text by that."""
        self.keep()
        if _is_alone():
            self._set_write(self._write_now)

    def watch(self, limit: int, flooded: Callable[[], None]) -> None:
        """Call *flooded* once after *limit* flushes from now on."""
        self._flushes, self._limit, self._flooded = 0, limit, flooded

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The descriptor behind the stream."""
        return self._fd

    def flush(self) -> None:
        """Write all blocks.

        Raises:
            OSError: now or in the background, for instance because the disk is full.
        """
        with self.lock:
            self._drain()
            error, self.error = self.error, None
        if error is not None:
            raise error
        self._flushes += 1
        if self._flushes == self._limit:
            self._flooded()

    def close(self) -> None:
        """Write all blocks; the descriptor stays open."""
        super().close()
        self.closed = True

    def forget(self) -> None:
        """Begin in a forked child: the parent has written what is in here."""
        self.lock = threading.RLock()
        self._blocks.clear()
        self.error = None
        self.watch(_NEVER, _nothing)
        self.keep()

    def _set_write(self, write: Callable[[bytes], object]) -> None:
        # On the instance, where it is found before the class's own.
        vars(self)["write"] = write

    def _write_now(self, block: bytes) -> int:
        with self.lock:
            self._blocks.append(block)
            self._drain()
        if not _is_alone():
            self.keep()
        return len(block)

    def _drain(self) -> None:
        while self._blocks:
            block = self._blocks.popleft()
            while block:
                block = block[os.write(self._fd, block) :]


def _nothing() -> None:
    pass


def _is_alone() -> bool:
    """Whether there is no thread but the caller's and the one that ticks."""
    return threading.active_count() <= 2  # noqa: PLR2004 - these two


class _Bytes(io.BufferedIOBase):
    """``sys.stdout.buffer`` as users know it."""

    def __init__(self, queue: _Queue) -> None:
        self.name = queue.name
        self._queue = queue

    def write(self, block: Any) -> int:  # noqa: ANN401 - any buffer
        """Write a copy of *block* at once."""
        copy = bytes(block)
        self._queue.write(copy)
        self._queue.flush()
        return len(copy)

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The descriptor behind the stream."""
        return self._queue.fileno()


class LineStream(io.TextIOWrapper):
    """A text stream that leaves line buffering while there is a flood.

    Its owner calls ``tick`` from a thread, some 20 times a second.

    Args:
        fd: the descriptor to write to; it is never closed.
        name: the stream's name, for instance ``"<stdout>"``.
        may_flood: whether a flood may be written in chunks.
    """

    closed = False  # as in _Queue
    mode = "w"
    # An empty ``__dict__`` makes every write a fifth faster.
    __slots__ = ("_bytes", "_in_flood", "_may_flood", "_queue")

    def __init__(self, fd: int, name: str, *, may_flood: bool) -> None:
        self._queue = _Queue(fd, name)
        super().__init__(
            self._queue,
            encoding="utf-8",
            errors="backslashreplace",
            line_buffering=True,
        )
        self._CHUNK_SIZE = _CHUNK
        self._bytes = _Bytes(self._queue)
        self._in_flood = False
        self._may_flood = may_flood
        self._watch(_FLOOD)

    @property
    def buffer(self) -> io.BufferedIOBase:  # type: ignore[override] # narrower than BinaryIO
        """A binary stream that may be written to as usual."""
        return self._bytes

    def close(self) -> None:
        """Write all text; the descriptor stays open."""
        super().close()
        vars(self)["closed"] = True

    def detach(self) -> io.BufferedIOBase:  # type: ignore[override] # narrower than BinaryIO
        """Give the binary stream away, as for another encoding."""
        super().detach()
        self._queue.watch(_NEVER, _nothing)
        return self._bytes

    def tick(self) -> None:
        """Write what is pending, from another thread than the writer's.

        Raises:
            ValueError: the stream was closed or detached.
        """
        # The lock comes first: text that is taken here is older than what the
        # writer waits with.
        with self._queue.lock:
            try:
                self.flush()
            except OSError as error:
                self._queue.error = error
            if self._in_flood:
                self._in_flood = False
                self._queue.keep()
                with contextlib.suppress(OSError):
                    self.reconfigure(line_buffering=True)
                self._watch(_STILL_FLOOD)
            else:
                self._watch(_FLOOD)

    def before_fork(self) -> None:
        """Leave nothing that the child would write once more."""
        self._queue.lock.acquire()
        try:
            self.flush()
        except ValueError:
            pass  # closed
        except OSError as error:
            self._queue.error = error

    def after_fork(self) -> None:
        """Go on, in the parent."""
        self._queue.lock.release()

    def in_child(self) -> None:
        """Go on in the child, where nothing ticks: line by line."""
        self._queue.forget()
        self._may_flood = False
        with contextlib.suppress(ValueError):
            self.reconfigure(line_buffering=True)

    def _watch(self, limit: int) -> None:
        self._queue.watch(limit if self._may_flood else _NEVER, self._flood)

    def _flood(self) -> None:
        self._in_flood = True
        self.reconfigure(line_buffering=False)
        self._queue.write_through()
