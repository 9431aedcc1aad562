"""Jobs: starting them, following them, and what comes back."""

from __future__ import annotations

import os

from .bringing import bind_results, shown_text
from .handle import Job
from .home import Home
from .returned import NotBroughtBack
from .start import CellRequest, launch, pack_cell, read_options, start_cell

__all__ = [
    "CellRequest",
    "Home",
    "Job",
    "NotBroughtBack",
    "bind_results",
    "jobs",
    "launch",
    "pack_cell",
    "read_options",
    "shown_text",
    "start_cell",
]


def jobs() -> list[Job]:
    """All jobs in this user's folder, the newest first, of any kernel.

    Raises:
        OptionError: a setting in the environment is wrong.
    """
    home = Home.of_environment(os.environ)
    return [Job(folder) for folder in home.folders()]
