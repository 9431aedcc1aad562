"""The standard streams of a rank: UTF-8, live, and complete to the last word."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import NoReturn

from .line_stream import LineStream
from .no_input import close_stdin

__all__ = ["Streams", "close_stdin", "open_streams"]

_TICK = 0.05  # seconds after which pending text is written at the latest


class Streams:
    """The standard streams of a rank, and the thread that ticks for them."""

    def __init__(self) -> None:
        self._before = sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__
        self._texts = [
            LineStream(1, "<stdout>", may_flood=True),
            LineStream(2, "<stderr>", may_flood=False),
        ]
        sys.stdout = sys.__stdout__ = self._texts[0]  # type: ignore[misc] # Final to mypy
        sys.stderr = sys.__stderr__ = self._texts[1]  # type: ignore[misc] # Final to mypy
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._tick, name="nbtune-streams", daemon=True
        )
        self._exit = os._exit
        os._exit = self._exit_flushed
        os.register_at_fork(
            before=self._before_fork,
            after_in_parent=self._after_fork,
            after_in_child=self._in_child,
        )
        self._thread.start()

    def flush(self) -> None:
        """Write all pending text of both streams.

        Raises:
            OSError: text could not be written.
        """
        for text in self._texts:
            # A user may have closed it.
            with contextlib.suppress(ValueError):
                text.flush()

    def close(self) -> None:
        """Write all pending text, end the thread, put the former streams back.

        Raises:
            OSError: text could not be written.
        """
        self._ended.set()
        self._thread.join()
        os._exit = self._exit
        sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__ = self._before  # type: ignore[misc] # Final to mypy
        self.flush()

    def _exit_flushed(self, status: int) -> NoReturn:
        """``os._exit`` loses no last words, as with ``python -u``."""
        with contextlib.suppress(OSError):
            self.flush()
        self._exit(status)

    def _tick(self) -> None:
        texts = list(self._texts)
        while not self._ended.wait(_TICK):
            for text in list(texts):
                try:
                    text.tick()
                except ValueError:
                    texts.remove(text)

    def _before_fork(self) -> None:
        for text in self._texts:
            text.before_fork()

    def _after_fork(self) -> None:
        for text in self._texts:
            text.after_fork()

    def _in_child(self) -> None:
        for text in self._texts:
            text.in_child()


def open_streams() -> Streams:
    """Put UTF-8 streams on descriptors 1 and 2; call it once in a rank.

    stdout is line buffered while output is slow; in a flood it writes chunks.
    Pending text is written after 50 ms in any case.
    """
    return Streams()
