"""What a flood of lines costs two ranks, relative to the same loop into a file.

Run ``python -m tests.benchmarks.output_flood`` in the root of the repository. Two
ranks print at once while the kernel shows what it can; two plain Python processes
run the same source into files. Lines are then counted in the logs of the ranks.
``tests/benchmarks/output_speed.py`` measures the streams alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.benchmarks.turns import by_turns, notebook, parser, report
from tests.kernels import Kernel

_BODY = """\
import json, os, pathlib, sys, time
rank = int(os.environ["RANK"])
folder = pathlib.Path({folder!r})
folder.joinpath(f"ready{{rank}}").touch()
while not folder.joinpath(f"ready{{1 - rank}}").exists():
    time.sleep(0.001)
wall, cpu = time.perf_counter(), time.process_time()
for number in range({lines}):
    print("line", rank, number)
sys.stdout.flush()
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
folder.joinpath(f"times{{rank}}").write_text(json.dumps([wall, cpu]))
"""
_LINE = re.compile(r"line (\d) (\d+)")


class _Flood:
    """The same source in ranks and in plain processes; it keeps the CPU times."""

    def __init__(self, kernel: Kernel, folder: Path, lines: int) -> None:
        self._kernel = kernel
        self._folder = folder
        self._lines = lines
        self._body = _BODY.format(folder=str(folder), lines=lines)
        self.cpu: dict[str, list[float]] = {"ranks": [], "files": []}
        self.lost = 0
        self.damaged = 0

    def in_ranks(self) -> float:
        """Seconds of the slower rank."""
        self._kernel.ok(f"%%torchrun --nproc_per_node 2\n{self._body}")
        logs = self._kernel.home / "jobs" / self._kernel.jobs()[-1] / "logs" / "0"
        for rank in (0, 1):
            self._count(rank, (logs / str(rank) / "stdout.log").read_text())
        return self._seconds("ranks")

    def in_files(self) -> float:
        """Seconds of the slower process."""
        processes = []
        for rank in (0, 1):
            with (self._folder / f"plain{rank}").open("w") as file:
                processes.append(
                    subprocess.Popen(
                        [sys.executable, "-c", self._body],
                        stdout=file,
                        env={**os.environ, "RANK": str(rank)},
                    )
                )
        assert [process.wait() for process in processes] == [0, 0]
        return self._seconds("files")

    def _seconds(self, where: str) -> float:
        times = [
            json.loads((self._folder / f"times{rank}").read_text()) for rank in (0, 1)
        ]
        for file in self._folder.iterdir():
            file.unlink()
        self.cpu[where].append(max(cpu for _, cpu in times))
        return max(wall for wall, _ in times)

    def _count(self, rank: int, text: str) -> None:
        seen: Counter[int] = Counter()
        for line in text.splitlines():
            found = _LINE.fullmatch(line)
            if found and int(found[1]) == rank and not seen[int(found[2])]:
                seen[int(found[2])] += 1
            else:
                self.damaged += 1
        self.lost += self._lines - len(seen)


def main() -> None:
    """Measure and print."""
    words = parser(__doc__)
    words.add_argument("--lines", type=int, default=100_000, help="of each rank")
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as name, notebook() as kernel:
        flood = _Flood(kernel, Path(name), given.lines)
        times = by_turns(flood.in_ranks, flood.in_files, given.tries)
    what = f"{given.lines} lines from each of 2 ranks"
    report(f"{what}, seconds on the clock", "a plain file", *times)
    cpu = (flood.cpu["ranks"][1:], flood.cpu["files"][1:])
    report(f"{what}, seconds of the CPU", "a plain file", *cpu)
    print(f"lines lost on disk: {flood.lost}, damaged: {flood.damaged}")


if __name__ == "__main__":
    main()
