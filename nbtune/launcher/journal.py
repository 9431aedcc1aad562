"""The launcher's events, each one line of ``events.jsonl``."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from nbtune.record import encode

if TYPE_CHECKING:
    from pathlib import Path

    from nbtune.record import Event

__all__ = ["Journal"]


class Journal:
    """Appends events; usable from any thread of the launcher."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._file = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )

    def write(self, event: Event) -> None:
        """Append one event with one write, so that a reader sees it whole."""
        with self._lock:
            os.write(self._file, encode(event))
