"""From a cell to the first line of both ranks, relative to ``torchrun --standalone``.

Run ``python -m tests.benchmarks.launch_cold`` in the root of the repository. A real
kernel runs the cell, with a fresh launcher each time; torchrun runs the same body.
Each rank puts the time into its line: the first figure is from the start until both
have printed, the second until whoever started the job has read both lines. One run
of both is not counted: it reads the files into memory, and torchrun's options once.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from pathlib import Path

from tests.benchmarks.turns import by_turns, notebook, parser, report, torchrun
from tests.kernels import Kernel

# One write for the whole line: torchrun's ranks are unbuffered and share a pipe.
_PRINT = """\
import os, sys, time
sys.stdout.write(f"up {os.environ['RANK']} {time.time()}\\n")
sys.stdout.flush()
"""
_GLOO = """\
import torch.distributed as dist
dist.init_process_group("gloo")
"""
_BODIES = {
    "torch": f"import torch\n{_PRINT}",
    "print": _PRINT,
    "gloo": f"{_GLOO}{_PRINT}dist.destroy_process_group()\n",
}
_LINE = re.compile(r"up (\d) ([\d.]+)\n")
_RANKS = {"0", "1"}


def main() -> None:
    """Measure and print."""
    words = parser(__doc__)
    words.add_argument(
        "--body", choices=_BODIES, default="torch", help="what the ranks run"
    )
    given = words.parse_args()
    body = _BODIES[given.body]
    with tempfile.TemporaryDirectory() as name, notebook() as kernel:
        script = Path(name) / "body.py"
        script.write_text(body)
        ours, theirs = by_turns(
            lambda: _cell(kernel, body), lambda: _script(script), given.rounds
        )
    for index, what in enumerate(("printed", "read")):
        report(
            f"first line of both ranks {what} ({given.body})",
            "torchrun --standalone",
            [times[index] for times in ours],
            [times[index] for times in theirs],
        )


def _cell(kernel: Kernel, body: str) -> tuple[float, float]:
    start = time.time()
    handle = kernel.start(f"%%torchrun --nproc_per_node 2\n{body}")
    for rank in sorted(_RANKS):
        kernel.wait_for_output(handle, f"up {rank}")
    read = time.time() - start
    assert handle.wait().error is None, handle.cell.text
    return _printed(handle.cell.text) - start, read


def _script(script: Path) -> tuple[float, float]:
    start = time.time()
    process = torchrun(script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    text = ""
    while {rank for rank, _ in _LINE.findall(text)} != _RANKS:
        line = process.stdout.readline()
        assert line, f"torchrun ended without both lines:\n{text}"
        text += line
    read = time.time() - start
    process.communicate()
    return _printed(text) - start, read


def _printed(text: str) -> float:
    """When the later rank has printed its line."""
    return max(float(when) for _, when in _LINE.findall(text))


if __name__ == "__main__":
    main()
