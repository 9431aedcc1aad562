"""Two settings of Linux that tie processes together (prctl(2)).

Where there is no ``prctl``, both do nothing: orphans of a job then go to init,
and a launcher notices the end of its supervisor not at all.
"""

from __future__ import annotations

import os
import signal

__all__ = ["adopt_orphans", "die_with_parent"]

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make orphans among the descendants of this process its children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Have the kernel SIGKILL this process when the process *parent* ends.

    The signal is tied to the thread that forked: a supervisor has but one.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it ended before the setting was made


def _prctl(option: int, value: int) -> None:
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return
    prctl(option, ctypes.c_ulong(value), 0, 0, 0)
