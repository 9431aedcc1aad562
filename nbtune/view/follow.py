"""Following a job from the cell that started it, stop button included."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from nbtune.job import Job

    from .text import TextView

__all__ = ["TextResult", "ended_on_error", "follow", "short_interrupt"]

_TICK = 0.05  # seconds between looks at the logs
_STEPS = ("I", "T", "K")


@dataclass(frozen=True, slots=True)
class TextResult:
    """A value that lives on a rank, known here by its text."""

    text: str

    def __repr__(self) -> str:
        return self.text


def follow(job: Job, view: TextView) -> None:
    """Show the output of *job* until all its processes have ended.

    Every interrupt goes one step up: SIGINT, SIGTERM, SIGKILL; the supervisor
    takes the same steps by itself after short waits. A fourth one ends the
    supervisor, should it be stuck, and everything with it.

    Raises:
        KeyboardInterrupt: the user stopped the job; it has ended.
    """
    begun = time.monotonic()
    with _presses_stop(job) as presses:
        while not job.wait(_TICK):
            view.update()
        view.finish()
    if presses:
        seconds = time.monotonic() - begun
        raise _interrupt(f"stopped by you after {seconds:.1f} s (job {job.id})")


@contextlib.contextmanager
def _presses_stop(job: Job) -> Iterator[list[int]]:
    """Let interrupts stop *job* instead of raising in the midst of anything.

    Yields:
        A list with an entry for each interrupt so far.
    """
    presses: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield presses  # only the main thread is ever interrupted
        return

    def press(number: int, _: FrameType | None) -> None:
        presses.append(number)
        if job.running is None:
            return
        if len(presses) <= len(_STEPS):
            job.running.interrupt(_STEPS[len(presses) - 1])
        else:
            job.running.kill()

    before = signal.signal(signal.SIGINT, press)
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def ended_on_error(job: Job) -> Iterator[None]:
    """End *job* if anything is raised in here, for instance by a full disk."""
    try:
        yield
    except BaseException:
        if job.running is not None:
            job.running.interrupt("K")
            job.wait()
        raise


@contextlib.contextmanager
def short_interrupt(words: str) -> Iterator[None]:
    """Show an interrupt in here as one line, not as frames of our own."""
    try:
        yield
    except KeyboardInterrupt:
        raise _interrupt(words) from None


def _interrupt(words: str) -> KeyboardInterrupt:
    error = KeyboardInterrupt(words)
    # IPython asks for this before it renders a traceback.
    error._render_traceback_ = lambda: [f"KeyboardInterrupt: {words}"]  # type: ignore[attr-defined]
    return error
