"""What the launcher says of its own failure, told in a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .torch_record import read_torch_record
from .wording import printable

if TYPE_CHECKING:
    from nbtune.record import JobDir

__all__ = ["launcher_line"]

_WIDTH = 500
_TAIL = 65_536
_IN_USE = re.compile(r"EADDRINUSE|[Aa]ddress already in use")
_PORT = re.compile(
    r"\bport:? (\d{1,5})\b|\b(?:localhost|127\.0\.0\.1)[:, ]+(\d{1,5})\b"
)
_ERROR = re.compile(r"^[\w.]*(?:Error|Exception)\b.*", re.MULTILINE)


def launcher_line(folder: JobDir, message: str) -> str:
    """The error of the launcher in one line.

    Args:
        folder: the job.
        message: what the launcher's last event says.
    """
    recorded, callstack = read_torch_record(folder.error)
    log = _log(folder)
    text = message or recorded
    for said in (text, callstack, log):
        if _IN_USE.search(said):
            return _port_in_use(said)
    line = _first_line(text) or _last_error(log) or "it left no word why"
    if "inner exception" in line:
        # Python prints the inner one of a chain first.
        inner = _ERROR.search(callstack) or _ERROR.search(log)
        if inner and inner.group() not in line:
            line = f"{line} ({_first_line(inner.group())})"
    return printable(line)


def _log(folder: JobDir) -> str:
    try:
        with folder.launcher_log.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _TAIL))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _port_in_use(text: str) -> str:
    near = text[max(0, text.find("EADDRINUSE") - _WIDTH) :]
    found = _PORT.search(near)
    port = f"port {found[1] or found[2]}" if found else "its port"
    return f"{port} is in use; name another one, or none to get a free one"


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:_WIDTH] if lines else ""


def _last_error(log: str) -> str:
    errors = _ERROR.findall(log) or [line for line in log.splitlines() if line.strip()]
    return str(errors[-1])[:_WIDTH] if errors else ""
