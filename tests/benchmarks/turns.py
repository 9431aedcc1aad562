"""Two ways to do one thing, measured by turns in one run."""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tests.kernels import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["by_turns", "notebook", "parser", "report", "torchrun"]

# Compiled modules are kept, and a file is buffered, as by default.
_UNSET = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")

T = TypeVar("T")


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser that knows how often to measure."""
    words = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--rounds", type=int, default=7, help="5 or more, default 7")
    return words


@contextlib.contextmanager
def notebook() -> Iterator[Kernel]:
    """A real kernel with nbtune loaded, and a home of its own."""
    with tempfile.TemporaryDirectory() as folder:
        kernel = Kernel(Path(folder), env=dict.fromkeys(_UNSET))
        try:
            kernel.ok("%load_ext nbtune")
            yield kernel
        finally:
            kernel.stop()


def torchrun(script: Path, *, stdout: int, stderr: int) -> subprocess.Popen[str]:
    """``torchrun --standalone`` with two ranks."""
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return subprocess.Popen(
        [*run, "--nproc_per_node", "2", os.fspath(script)],
        stdout=stdout,
        stderr=stderr,
        text=True,
        env={name: text for name, text in os.environ.items() if name not in _UNSET},
    )


def by_turns(
    ours: Callable[[], T], theirs: Callable[[], T], rounds: int
) -> tuple[list[T], list[T]]:
    """Measure each *rounds* times, after a first time that does not count."""
    pairs = [(ours(), theirs()) for _ in range(rounds + 1)][1:]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def report(
    what: str, rival: str, ours: Sequence[float], theirs: Sequence[float]
) -> None:
    """Print the ratio of the medians, then the medians and all values in seconds."""
    medians = statistics.median(ours), statistics.median(theirs)
    print(f"{what}: {medians[0] / medians[1]:.3f} x {rival}")
    for name, median, times in zip(
        ("nbtune", rival), medians, (ours, theirs), strict=True
    ):
        listed = " ".join(f"{seconds:.3f}" for seconds in times)
        print(f"  {name}: median {median:.3f} s of {listed}")
