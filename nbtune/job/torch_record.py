"""The JSON that torch's ``@record`` leaves of an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtune.record import read_json

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_torch_record"]


def read_torch_record(path: Path) -> tuple[str, str]:
    """Message and call stack, each ``""`` where torch has recorded none."""
    record = (read_json(path) or {}).get("message", "")
    if not isinstance(record, dict):
        return str(record), ""
    extra = record.get("extraInfo")
    stack = extra.get("py_callstack", "") if isinstance(extra, dict) else ""
    return str(record.get("message", "")), str(stack)
