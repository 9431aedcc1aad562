"""What the tests of reported cases share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def readme() -> str:
    """The README in lower case, its lines joined."""
    text = Path(__file__).parents[2].joinpath("README.md").read_text("utf-8")
    return " ".join(text.lower().split())
