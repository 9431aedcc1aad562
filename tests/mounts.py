"""Small and read-only file systems, where the tests may mount them."""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def mounted_tmpfs(folder: Path, options: str) -> Iterator[Path]:
    """Mount a file system of its own on a new folder; skip where that is forbidden."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip(f"mounting is not allowed: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        # Lazy: a kernel may still have its working folder or a log in it.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
