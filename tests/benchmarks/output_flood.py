"""What a flood of lines costs a rank, relative to the same loop into a file.

Run ``python -m tests.benchmarks.output_flood`` in the root of the repository. One
job of two ranks runs the loop again and again, by turns to its stdout and to a file
of its own from ``open``, both ranks at once. The kernel shows what it can; a rest
before each loop lets it finish with the one before. The slower rank counts. Lines are
then counted in the logs of the ranks. ``output_speed.py`` measures the streams alone.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from pathlib import Path

from tests.benchmarks.turns import notebook, parser, report

_BODY = """\
import json, os, pathlib, sys, time
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
folder = pathlib.Path({folder!r})

def flood(file):
    time.sleep({rest})
    dist.barrier()
    wall, cpu = time.perf_counter(), time.process_time()
    for number in range({lines}):
        print("line", rank, number, file=file)
    (file or sys.stdout).flush()
    return time.perf_counter() - wall, time.process_time() - cpu

def plain():
    with open(folder / f"plain{{rank}}", "w") as file:
        return flood(file)

times = []
for turn in range({rounds} + 1):
    if turn % 2:
        theirs, ours = plain(), flood(None)
    else:
        ours, theirs = flood(None), plain()
    times.append((ours, theirs))
(folder / f"times{{rank}}").write_text(json.dumps(times[1:]))
"""
_LINE = re.compile(r"line (\d) (\d+)")
_RANKS = (0, 1)


def main() -> None:
    """Measure and print."""
    words = parser(__doc__)
    words.add_argument("--lines", type=int, default=100_000, help="of each rank")
    words.add_argument(
        "--rest", type=float, default=1.0, help="seconds before each loop"
    )
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as name, notebook() as kernel:
        body = _BODY.format(
            folder=name, lines=given.lines, rounds=given.rounds, rest=given.rest
        )
        kernel.ok(f"%%torchrun --nproc_per_node 2\n{body}", timeout=600)
        logs = kernel.home / "jobs" / kernel.jobs()[-1] / "logs" / "0"
        texts = [(logs / str(rank) / "stdout.log").read_text() for rank in _RANKS]
        by_rank = [
            json.loads((Path(name) / f"times{rank}").read_text()) for rank in _RANKS
        ]
    what = f"{given.lines} lines from each of 2 ranks"
    for clock, seconds in enumerate(("on the clock", "of the CPU")):
        rounds = list(zip(*by_rank, strict=True))
        ours, theirs = (
            [max(one[way][clock] for one in ranks) for ranks in rounds]
            for way in (0, 1)
        )
        report(f"{what}, seconds {seconds}", "a plain file", ours, theirs)
    lost, damaged = _count(texts, given.lines, given.rounds + 1)
    print(f"lines lost on disk: {lost}, damaged: {damaged}")


def _count(texts: list[str], lines: int, floods: int) -> tuple[int, int]:
    """Lines that are missing, and lines that nobody has printed or not that often."""
    lost = damaged = 0
    for rank, text in enumerate(texts):
        seen: Counter[int] = Counter()
        for line in text.splitlines():
            found = _LINE.fullmatch(line)
            number = int(found[2]) if found and int(found[1]) == rank else lines
            if number < lines and seen[number] < floods:
                seen[number] += 1
            else:
                damaged += 1
        lost += lines * floods - seen.total()
    return lost, damaged


if __name__ == "__main__":
    main()
