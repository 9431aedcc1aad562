"""What a cell has put out, and how to read it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_RANK_LINE = re.compile(r"\[(\d+)\] ?(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellError:
    """The error output of a cell, its traceback without colours."""

    ename: str
    evalue: str
    traceback: str


@dataclass(slots=True, kw_only=True)
class Cell:
    """What one cell has put out; it fills while the cell runs."""

    stdout: str = ""
    stderr: str = ""
    result: str = ""
    error: CellError | None = None
    outputs: list[dict[str, Any]] = field(default_factory=list)
    reply: dict[str, Any] | None = None
    idle: bool = False

    @property
    def done(self) -> bool:
        """Whether the kernel has answered and sent all output."""
        return self.idle and self.reply is not None

    @property
    def text(self) -> str:
        """All text of the cell, its error included."""
        shown = self.error.traceback if self.error else ""
        return f"{self.stdout}{self.stderr}{self.result}{shown}"

    @property
    def notes(self) -> list[str]:
        """The lines that are no rank's: what nbtune itself says."""
        lines = [*self.stdout.splitlines(), *self.stderr.splitlines()]
        return [line for line in lines if not _RANK_LINE.fullmatch(line)]

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """Keep one message of the kernel."""
        if kind == "status":
            self.idle = content["execution_state"] == "idle"
            return
        if kind == "execute_input":
            return
        self.outputs.append({"output_type": kind, **content})
        if kind == "stream":
            text = content["text"]
            if content["name"] == "stdout":
                self.stdout += text
            else:
                self.stderr += text
        elif kind == "execute_result":
            self.result = content["data"].get("text/plain", "")
        elif kind == "error":
            self.error = CellError(
                ename=content["ename"],
                evalue=_ANSI.sub("", content["evalue"]),
                traceback=_ANSI.sub("", "\n".join(content["traceback"])),
            )


def ranks(text: str) -> dict[int, list[str]]:
    """Return the lines of each rank among a cell's text."""
    lines: dict[int, list[str]] = {}
    for line in _ANSI.sub("", text).split("\n"):
        if found := _RANK_LINE.fullmatch(line):
            lines.setdefault(int(found[1]), []).append(found[2])
    return lines


def refusal(cell: Cell) -> str:
    """Return what a cell was refused with: a usage error, never a traceback."""
    message = _ANSI.sub("", cell.stderr).strip().removeprefix("UsageError: ")
    if cell.error:
        assert cell.error.ename == "UsageError", cell.text
        message = cell.error.evalue
    assert message, f"nothing says why:\n{cell.text}"
    assert "Traceback" not in cell.text, cell.text
    assert not ranks(cell.stdout), f"a rank has run:\n{cell.text}"
    return message
