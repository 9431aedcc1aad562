"""Where jobs live on this machine, and how old ones go."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_state_dir

from nbtune.errors import OptionError
from nbtune.record import JobDir, JobState, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Home"]

_DAY = 86_400  # seconds after which a folder that never started is old


@dataclass(frozen=True, slots=True)
class Home:
    """The folder with all jobs of a user.

    Attributes:
        root: ``NBTUNE_HOME``, or the user's state folder.
        keep_jobs: finished jobs to keep, ``NBTUNE_KEEP_JOBS``.
        keep_bytes: room for finished jobs in bytes, ``NBTUNE_KEEP_MB``.
    """

    root: Path
    keep_jobs: int = 50
    keep_bytes: int = 2_000_000_000

    @classmethod
    def of_environment(cls, environ: Mapping[str, str]) -> Home:
        """Read the settings.

        Raises:
            OptionError: a setting is no number, or there is no home folder.
        """
        root = Path(environ.get("NBTUNE_HOME") or user_state_dir("nbtune"))
        if environ.get("NBTUNE_HOME"):
            root = root.expanduser().absolute()
        if not root.is_absolute():
            raise OptionError(
                "there is no home folder for this user; set NBTUNE_HOME to a folder"
            )
        jobs = _number(environ, "NBTUNE_KEEP_JOBS", 50)
        megabytes = _number(environ, "NBTUNE_KEEP_MB", 2000)
        return cls(root, jobs, megabytes * 1_000_000)

    @property
    def cache(self) -> Path:
        """What is read once and kept, for instance torchrun's options."""
        return self.root / "cache"

    def new_job(self) -> JobDir:
        """Make the folder of a new job, for this user's eyes alone.

        Raises:
            OptionError: the folder cannot be made.
        """
        stamp = time.strftime("%Y%m%d-%H%M%S")
        folder = self.root / "jobs" / f"{stamp}-{secrets.token_hex(3)}"
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.parent.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise OptionError(
                f"cannot write the job's folder {folder}: {error.strerror}; "
                "set NBTUNE_HOME to a folder that can be written"
            ) from error
        return JobDir(folder)

    def folders(self) -> list[JobDir]:
        """All jobs, the newest first."""
        parent = self.root / "jobs"
        try:
            names = os.listdir(parent)
        except OSError:
            return []
        return [JobDir(parent / name) for name in sorted(names, reverse=True)]

    def prune(self) -> None:
        """Remove old folders, beyond the settings; never one that may still run."""
        used = 0
        for index, folder in enumerate(self.folders()):
            used += _size(folder.root)
            over = index >= self.keep_jobs or used > self.keep_bytes
            if over and index > 0 and _is_over(folder):
                shutil.rmtree(folder.root, ignore_errors=True)


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "")
    if not text:
        return default
    if not text.isdecimal():
        raise OptionError(f"{name}={text} is not a whole number")
    return int(text)


def _size(root: Path) -> int:
    total = 0
    for parent, _, files in os.walk(root):
        for file in files:
            try:
                total += os.lstat(os.path.join(parent, file)).st_size  # noqa: PTH118 - a hot loop
            except OSError:
                continue
    return total


def _is_over(folder: JobDir) -> bool:
    state = read_snapshot(folder).state
    if state is JobState.PENDING:
        # Perhaps another kernel is still packing it.
        try:
            return time.time() - folder.root.stat().st_mtime > _DAY
        except OSError:
            return False
    return state.finished
