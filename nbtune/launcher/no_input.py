"""A rank's stdin: no one answers there, and asking is an error at once."""

from __future__ import annotations

import io
import os
import sys

__all__ = ["InputNotAvailableError", "close_stdin"]

_MESSAGE = (
    "input() and the debugger are not available on the ranks of a job, which have "
    "no keyboard; pass values in as notebook variables"
)


class InputNotAvailableError(RuntimeError):
    """A rank asked for input.

    Not an ``EOFError``: a debugger takes that for a quiet end.
    """

    def __init__(self) -> None:
        super().__init__(_MESSAGE)


class _NoInput(io.TextIOBase):
    encoding = "utf-8"
    errors = "strict"
    name = "<stdin>"
    mode = "r"

    @property
    def buffer(self) -> _NoInput:
        """Reading bytes is refused as well."""
        return self

    def readable(self) -> bool:
        """So that readers ask, and hear why not."""
        return True

    def fileno(self) -> int:
        """``/dev/null``, for child processes."""
        return 0

    def read(self, *_: object) -> str:
        """Refuse."""
        raise InputNotAvailableError

    def readline(self, *_: object) -> str:  # type: ignore[override] # as above
        """Refuse."""
        raise InputNotAvailableError


def close_stdin() -> None:
    """Make every wish for input an error that says why; nothing waits."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    if null:
        os.close(null)
    sys.stdin = sys.__stdin__ = _NoInput()  # type: ignore[assignment,misc] # Final to mypy
    sys.breakpointhook = _breakpoint


def _breakpoint(*args: object, **kwargs: object) -> object:
    # A debugger of the user's choice may well do without a keyboard.
    if os.environ.get("PYTHONBREAKPOINT"):
        return sys.__breakpointhook__(*args, **kwargs)  # noqa: T100 - the user's own wish
    raise InputNotAvailableError
