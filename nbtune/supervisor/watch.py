"""Waiting for the end of the launcher, or bringing it about."""

from __future__ import annotations

import os
import select
import signal
import time
from typing import TYPE_CHECKING

from .descendants import descendants, end, open_pidfd
from .ladder import COMMANDS, Ladder, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtune.record import LaunchSpec

    from .diary import Diary

__all__ = ["KERNEL_CHECK", "LIFELINE", "Watch"]

KERNEL_CHECK = 0.5
"""Seconds between two looks at the kernel where a process has no descriptor."""

LIFELINE = 0
"""The descriptor of the lifeline's read end: standard input."""

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Watch:
    """Watches one launcher, a child of this process.

    Args:
        launcher: the launcher's pid.
        spec: what the kernel asked for; None if that cannot be read, which the
            launcher itself reports.
        diary: takes the reason when the job is ended.

    Attributes:
        launcher: the launcher's pid.
        exitcode: how it ended, negative for a signal; None before its end.
    """

    def __init__(self, launcher: int, spec: LaunchSpec | None, diary: Diary) -> None:
        self.launcher = launcher
        self.exitcode: int | None = None
        self._diary = diary
        self._kernel = 0 if spec is None else spec.kernel_pid
        limit = None if spec is None else spec.timeout
        due = None if limit is None else time.monotonic() + limit
        self._ladder = Ladder(due=due)
        self._tick: float | None = None
        self._poll = select.poll()
        self._sources: dict[int, Callable[[int], None]] = {}

    def run(self) -> None:
        """Return when the launcher has ended and is reaped."""
        self._listen(LIFELINE, self._read_lifeline)
        self._listen(_signals_as_bytes(), self._read_signals)
        self._listen_to_kernel()
        self.reap()
        while self.exitcode is None:
            if self._kernel and os.getppid() != self._kernel:
                self._lose_kernel()
            for source, _ in self._poll.poll(self._pause()):
                self._sources[source](source)
            self._follow_clock()
            self.reap()

    def reap(self) -> bool:
        """Collect all children that ended; False when there is none left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.launcher:
                self.exitcode = os.waitstatus_to_exitcode(status)

    def _listen(self, source: int, act: Callable[[int], None]) -> None:
        self._poll.register(source, select.POLLIN)
        self._sources[source] = act

    def _listen_to_kernel(self) -> None:
        # A child that the kernel forks holds a copy of the lifeline: its end
        # of file alone does not tell of the kernel's end.
        if not self._kernel:
            return
        try:
            handle = open_pidfd(self._kernel)
        except ProcessLookupError:
            return  # run() sees that the parent is another one by now
        if handle is None:
            self._tick = KERNEL_CHECK
        else:
            self._listen(handle, self._see_kernel_end)

    def _pause(self) -> int | None:
        """Milliseconds until there is something to do without being woken."""
        waits = [] if self._tick is None else [self._tick]
        if self._ladder.due is not None:
            waits.append(max(0.0, self._ladder.due - time.monotonic()))
        # rounded up, or the last millisecond would be spent in circles
        return int(min(waits) * 1000) + 1 if waits else None

    def _read_lifeline(self, source: int) -> None:
        letters = os.read(source, 64)
        if not letters:
            self._poll.unregister(source)
            self._climb(Step.TERMINATE, "kernel")
        for letter in letters.decode("latin-1"):
            if letter in COMMANDS:
                self._climb(COMMANDS[letter], "cancel")

    def _read_signals(self, source: int) -> None:
        if any(number in _STOP_SIGNALS for number in os.read(source, 64)):
            self._climb(Step.TERMINATE, "cancel")

    def _see_kernel_end(self, source: int) -> None:
        self._poll.unregister(source)
        self._lose_kernel()

    def _lose_kernel(self) -> None:
        self._kernel = 0
        self._tick = None
        self._climb(Step.TERMINATE, "kernel")

    def _follow_clock(self) -> None:
        due = self._ladder.due
        if due is not None and time.monotonic() >= due:
            self._climb(self._ladder.following(), "timeout")

    def _climb(self, step: Step, reason: str) -> None:
        """Go up to *step*; *reason* counts if it is the first one."""
        before = self._ladder.step
        if not self._ladder.climb(step, time.monotonic()):
            return
        # The reason comes first: the launcher may read it when a signal comes.
        self._diary.give_reason(reason)
        if step is Step.INTERRUPT:
            os.kill(self.launcher, signal.SIGINT)
        elif step is Step.ABANDON:
            os.kill(self.launcher, signal.SIGKILL)
        else:
            if before is Step.RUN:
                # It shall record why it ends before it sees its ranks die.
                os.kill(self.launcher, signal.SIGTERM)
            self._end_all_below(step)

    def _end_all_below(self, step: Step) -> None:
        number = signal.SIGKILL if step is Step.KILL else signal.SIGTERM
        for process in descendants(os.getpid()):
            if process.pid != self.launcher:
                end(process, number, tidiers=False)


def _signals_as_bytes() -> int:
    """Turn the signals of this process into bytes of a pipe; its read end."""
    heard, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    for number in (*_STOP_SIGNALS, signal.SIGCHLD):
        signal.signal(number, lambda _number, _frame: None)
    return heard
