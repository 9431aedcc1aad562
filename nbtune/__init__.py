"""nbtune: multi-process PyTorch as easy as running a notebook cell.

``%load_ext nbtune`` gives the magics; ``nbtune.launch`` is the same from
Python. Importing this package imports neither torch nor ipywidgets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import (
    CaptureError,
    JobCancelledError,
    JobError,
    JobLostError,
    JobTimeoutError,
    LaunchError,
    NbtuneError,
    OptionError,
    WorkerError,
)

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .job import Job, jobs, launch

__version__ = "0.1.0"

__all__ = [
    "CaptureError",
    "Job",
    "JobCancelledError",
    "JobError",
    "JobLostError",
    "JobTimeoutError",
    "LaunchError",
    "NbtuneError",
    "OptionError",
    "WorkerError",
    "jobs",
    "launch",
]


def __getattr__(name: str) -> object:
    """Import the job room on first use, so that ``import nbtune`` stays light."""
    if name in {"Job", "jobs", "launch"}:
        from . import job

        return getattr(job, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics; called by ``%load_ext nbtune``."""
    from .magics import register

    register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics away again; called by ``%unload_ext nbtune``."""
    from .magics import unregister

    unregister(shell)
