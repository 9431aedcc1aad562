"""What printing costs in a rank, relative to the same loop into a file.

Run ``python tests/benchmarks/output_speed.py [LINES] [TRIES]``. Both loops run by
turns in one process; the best of the tries counts. Lines lost and damaged are
counted in what our streams have written.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, os.fspath(Path(__file__).parents[2]))

from nbtune.launcher.streams import open_streams

_LINE = re.compile(r"line 0 (\d+)")


def main(lines: int = 100_000, tries: int = 7) -> None:
    """Measure and print."""
    report = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryDirectory() as name:
        ours, plain = Path(name) / "ours.log", Path(name) / "plain.log"
        descriptor = os.open(ours, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(descriptor, 1)
        streams = open_streams()
        pairs = list(_pairs(lines, tries, plain))
        streams.close()
        found = [_LINE.fullmatch(line) for line in ours.read_text().splitlines()]
    numbers = [int(match[1]) for match in found if match]
    damaged = len(found) - len(numbers)
    lost = lines * tries - len(numbers)
    best_ours, best_plain = (min(times) for times in zip(*pairs, strict=True))
    report.write(f"{lines} lines: {best_ours / best_plain:.3f} x a plain file\n")
    report.write(f"lines lost: {lost}, damaged: {damaged}\n")


def _pairs(lines: int, tries: int, plain: Path) -> Iterator[tuple[float, float]]:
    for _ in range(tries):
        with plain.open("w") as file:
            baseline = _loop(lines, file)
        # Let the streams see the end of the flood: each try starts cold.
        time.sleep(0.2)
        yield _loop(lines, sys.stdout), baseline


def _loop(lines: int, file: TextIO) -> float:
    start = time.process_time()
    for number in range(lines):
        print("line", 0, number, file=file)
    file.flush()
    return time.process_time() - start


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
