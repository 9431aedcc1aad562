"""Job folders for the tests of this room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.job.folders import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "job")
