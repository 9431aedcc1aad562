"""Where the ranks of an attempt write: by attempt and global rank, kept for good."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torch.distributed.elastic.multiprocessing.api import LogsDest, LogsSpecs

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtune.record import JobDir

__all__ = ["JobLogs"]


class JobLogs(LogsSpecs):
    """torch's redirects into the job's folder.

    ``DefaultLogsSpecs`` names folders by local rank, deletes ``attempt_0`` when
    another node restarts this one, and leaves a folder in the temp directory.

    Args:
        folder: the job's folder.
        started: told the environments of the ranks of an attempt just before
            they start.
        tee: whether torch's filters (``--duplicate-stdout-filters``) need to
            follow the files.
    """

    def __init__(
        self,
        folder: JobDir,
        started: Callable[[dict[int, dict[str, str]]], None],
        *,
        tee: bool,
    ) -> None:
        super().__init__(log_dir=str(folder.logs))
        self._folder = folder
        self._started = started
        self._tee_files = tee

    @property
    def root_log_dir(self) -> str:
        """The parent of the attempts."""
        return str(self._folder.logs)

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """Make the folders of an attempt and name the files in them."""
        dest = LogsDest()
        for local_rank, env in envs.items():
            attempt = int(env["TORCHELASTIC_RESTART_COUNT"])
            log = self._folder.log(attempt, int(env["RANK"]))
            log.root.mkdir(parents=True)
            dest.stdouts[local_rank] = os.fspath(log.stdout)
            dest.stderrs[local_rank] = os.fspath(log.stderr)
            dest.error_files[local_rank] = os.fspath(log.error)
            env["TORCHELASTIC_ERROR_FILE"] = os.fspath(log.error)
            beside = log.root.parent
            dest.filtered_stdout = os.fspath(beside / "filtered_stdout.log")
            dest.filtered_stderr = os.fspath(beside / "filtered_stderr.log")
        if self._tee_files:
            dest.tee_stdouts, dest.tee_stderrs = dest.stdouts, dest.stderrs
        self._started(envs)
        return dest
