"""The output of all ranks as plain text, a whole line at a time."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, TextIO

from .flood import Allowance, Gate
from .lines import LineReader
from .tail import Tail

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from nbtune.record import JobDir

__all__ = ["TextView"]

_CHUNK = 262_144  # bytes of one stream at a time
_CHUNKS = 16  # of all streams in one update: 4 MiB
_BAR_STEP = 10.0  # seconds between the states of a progress bar


class TextView:
    """Prints the lines of the ranks, each behind its rank: ``[0] line``.

    Args:
        folder: the job.
        show: the ranks to show; None for all.
        out: gets what the ranks write to stdout.
        err: gets what they write to stderr.
        clock: seconds that only go up.
    """

    def __init__(
        self,
        folder: JobDir,
        *,
        show: frozenset[int] | None,
        out: TextIO,
        err: TextIO,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._show = show
        self._out = out
        self._err = err
        self._clock = clock
        self._attempt = 0
        self._streams: dict[Path, _Stream] = {}
        self._allowance = Allowance(clock())
        self._turn = 0

    def update(self) -> None:
        """Print what is new, as far as it can be read in a moment."""
        self._advance()

    def finish(self) -> None:
        """Print all that is left, lines that nothing has ended included."""
        while not self._advance():
            pass
        self._close()

    def _advance(self) -> bool:
        """Print what is new; whether that was all."""
        newest = max(self._folder.attempts(), default=self._attempt)
        self._discover()
        if not self._read():
            return False
        if self._attempt >= newest:
            return True
        # The ranks of an attempt have ended before the next one's folder is made.
        self._close()
        self._attempt, self._streams = self._attempt + 1, {}
        _write(self._out, f"nbtune: attempt {self._attempt}\n")
        return False

    def _discover(self) -> None:
        for rank in self._folder.ranks(self._attempt):
            if self._show is not None and rank not in self._show:
                continue
            log = self._folder.log(self._attempt, rank)
            for path, target in ((log.stdout, self._out), (log.stderr, self._err)):
                if path not in self._streams:
                    self._streams[path] = _Stream(path, rank, target, self._clock())

    def _read(self) -> bool:
        """Read and print a bounded amount; whether every stream is at its end."""
        streams = list(self._streams.values())
        if not streams:
            return True
        self._turn %= len(streams)
        waiting = streams[self._turn :] + streams[: self._turn]
        for _ in range(_CHUNKS):
            if not waiting:
                break
            stream = waiting.pop(0)
            if stream.read(_CHUNK):
                waiting.append(stream)
        # Whoever has been left waiting comes first next time.
        self._turn = streams.index(waiting[0]) if waiting else 0
        self._show_new(streams)
        return not waiting

    def _show_new(self, streams: list[_Stream]) -> None:
        now = self._clock()
        self._allowance.refill(now)
        wanting = [stream for stream in streams if stream.wants(now)]
        # Those that need least come first and leave the rest to the others.
        shown: dict[_Stream, list[str]] = {}
        for number, stream in enumerate(sorted(wanting, key=_Stream.need)):
            part = self._allowance.share(len(wanting) - number)
            shown[stream] = stream.admit(part, now)
            self._allowance.spend(shown[stream])
        self._print({stream: shown[stream] for stream in wanting})

    def _close(self) -> None:
        """Print the rest of this attempt."""
        self._print({stream: stream.rest() for stream in self._streams.values()})

    def _print(self, shown: dict[_Stream, list[str]]) -> None:
        texts: dict[TextIO, list[str]] = {}
        for stream, lines in shown.items():
            text = texts.setdefault(stream.target, [])
            text += [f"{stream.prefix} {line}\n" for line in lines]
        for target, text in texts.items():
            if text:
                _write(target, "".join(text))


class _Stream:
    """One file of one rank, on its way to the screen.

    Attributes:
        target: where its lines are printed.
        prefix: what is put before each of them.
    """

    def __init__(self, path: Path, rank: int, target: TextIO, now: float) -> None:
        where = os.fspath(path)
        self.target = target
        self.prefix = f"[{rank}]"
        self._tail = Tail(path)
        self._reader = LineReader(where)
        self._gate = Gate(where)
        self._new: list[str] = []
        self._bars_at = now

    def read(self, limit: int) -> bool:
        """Read at most *limit* bytes; whether there may be more."""
        data = self._tail.read(limit)
        if data:
            self._new += self._reader.feed(data)
        return len(data) == limit

    def wants(self, now: float) -> bool:
        """Whether there is something to print."""
        if now - self._bars_at >= _BAR_STEP:
            self._bars_at = now
            self._new += self._reader.bars()
        return bool(self._new) or self._gate.holds

    def need(self) -> int:
        """How many lines are new."""
        return len(self._new)

    def admit(self, allowance: Allowance, now: float) -> list[str]:
        """Take what may be printed now."""
        new, self._new = self._new, []
        return self._gate.admit(new, allowance, now)

    def rest(self) -> list[str]:
        """Take all that is left at the end."""
        lines, self._new = self._new + self._reader.finish(), []
        if not self._gate.holds:
            return lines
        self._gate.hold(lines)
        return self._gate.release()


def _write(target: TextIO, text: str) -> None:
    try:
        target.write(text)
    except UnicodeEncodeError as error:
        safe = text.encode(error.encoding, "backslashreplace")
        target.write(safe.decode(error.encoding))
    # Now, not when the next line comes: a notebook's stream waits by itself.
    target.flush()
