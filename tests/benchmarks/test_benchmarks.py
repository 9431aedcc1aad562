"""The scripts behind the figures can be run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=_HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["launch_cold", "failure_latency", "output_flood"])
def test_a_benchmark_says_how_it_is_run(name: str) -> None:
    done = _run("-m", f"tests.benchmarks.{name}", "--help")
    assert done.returncode == 0, done.stderr
    assert f"python -m tests.benchmarks.{name}" in done.stdout


def test_the_speed_of_the_streams_can_be_measured() -> None:
    done = _run(str(_HERE / "output_speed.py"), "100", "1")
    assert "lines lost: 0, damaged: 0" in done.stdout, done.stderr
