"""Writing so that a reader never sees half a file."""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_json", "write_json", "write_whole"]


def write_whole(path: Path, data: bytes) -> None:
    """Write beside *path*, then rename, so a reader never sees half a file.

    Raises:
        OSError: the folder cannot be written; nothing is left behind.
    """
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def write_json(path: Path, value: object) -> None:
    """Write *value* as JSON; text that UTF-8 cannot hold is kept as escapes."""
    write_whole(path, json.dumps(value).encode("ascii"))


def read_json(path: Path) -> dict[str, object] | None:
    """Read a JSON object; None if it is missing, unreadable or cut off."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
