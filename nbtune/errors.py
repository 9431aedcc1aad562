"""Every error that nbtune raises, from broad to narrow.

* ``NbtuneError``: catch this to catch all of ours.

  * ``OptionError``: a magic line or an option is wrong; nothing was started.
  * ``CaptureError``: a value of the notebook cannot travel; nothing was started.
  * ``CellSyntaxError``: the cell does not compile; nothing was started.
  * ``JobError``: a job started and did not succeed.

    * ``WorkerError``: a rank raised, exited or died.
    * ``LaunchError``: the launcher failed before or beside the ranks.
    * ``JobLostError``: the launcher was killed from outside.
    * ``JobTimeoutError``: the job ran longer than its ``--timeout``.
    * ``JobCancelledError``: the result of a stopped job was asked for.
"""

from __future__ import annotations

import concurrent.futures
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtune.record import WorkerFailure

__all__ = [
    "CaptureError",
    "CellSyntaxError",
    "JobCancelledError",
    "JobError",
    "JobLostError",
    "JobTimeoutError",
    "LaunchError",
    "NbtuneError",
    "OptionError",
    "WorkerError",
]


class NbtuneError(Exception):
    """The base of all errors raised by nbtune."""


class OptionError(NbtuneError):
    """A magic line is wrong: the message says what, which one and what to do."""


class CaptureError(NbtuneError):
    """Values of the notebook that cannot travel, one line for each."""


class CellSyntaxError(NbtuneError):
    """The cell does not compile.

    Not a ``SyntaxError``: IPython shows those with all frames of the magic that
    raised them. It carries the same text, and the name that a notebook shows.

    Args:
        error: what ``compile`` raised, its line counted from the magic line.
        rendered: the lines that IPython shows for it.
    """

    def __init__(self, error: SyntaxError, rendered: Sequence[str]) -> None:
        super().__init__(str(error))
        self.error = error
        self.rendered = list(rendered)

    def _render_traceback_(self) -> list[str]:
        return self.rendered


# The name is what a front end shows as the kind of the error.
CellSyntaxError.__name__ = "SyntaxError"


class JobError(NbtuneError):
    """A job started and did not succeed.

    Args:
        message: one line that says what happened.
        rendered: what a notebook shows instead of a Python traceback.
        job_id: the job's id, the name of its folder.
    """

    def __init__(
        self, message: str, rendered: Sequence[str] = (), job_id: str = ""
    ) -> None:
        super().__init__(message)
        self.job_id = job_id
        self._rendered = list(rendered)

    def _render_traceback_(self) -> list[str]:
        return self._rendered or [f"{type(self).__name__}: {self}"]


class LaunchError(JobError):
    """The launcher failed: a rendezvous, port or option that torch refused."""


class JobLostError(JobError):
    """The launcher was killed, so that nobody could record an end."""


class JobTimeoutError(JobError, TimeoutError):
    """The job ran longer than ``--timeout`` and was ended."""


class JobCancelledError(JobError, concurrent.futures.CancelledError):
    """The job was stopped before it had a result."""


class WorkerError(JobError):
    """A rank failed. The attributes describe the rank that failed first.

    Attributes:
        rank: global rank.
        local_rank: rank on its node.
        exception: type name of what was raised, for instance ``"KeyError"``;
            ``""`` when the process died without raising.
        message: the exception's text, or the death in words.
        traceback: the rank's traceback as plain text, ``""`` if there is none.
        exitcode: exit status of the process; negative for a signal.
        signal: name of the signal that ended it, for instance ``"SIGSEGV"``.
        error_file: path of torch's own record of this failure.
        failures: the failures of all other ranks.
    """

    def __init__(
        self,
        root: WorkerFailure,
        others: Sequence[WorkerFailure] = (),
        rendered: Sequence[str] = (),
        job_id: str = "",
    ) -> None:
        super().__init__(root.summary(), rendered, job_id)
        self.rank = root.rank
        self.local_rank = root.local_rank
        self.exception = root.exception
        self.message = root.message
        self.traceback = root.plain_traceback
        self.exitcode = root.exitcode
        self.signal = root.signal
        self.error_file = root.error_file
        self.failures = tuple(others)
