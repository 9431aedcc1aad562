"""From a cell to the first line of both ranks, relative to ``torchrun --standalone``.

Run ``python -m tests.benchmarks.launch_cold`` in the root of the repository. A real
kernel runs the cell, with a fresh launcher each time; torchrun runs the same body.
The clock stops when whoever started the job has read a line of each rank. One run
of both is not counted: it reads the files into memory, and torchrun's options once.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.benchmarks.turns import by_turns, notebook, parser, report, torchrun
from tests.kernels import Kernel

_BODIES = {
    "torch": "import os, torch\nprint('up', os.environ['RANK'], flush=True)",
    "print": "import os\nprint('up', os.environ['RANK'], flush=True)",
    "gloo": "import torch.distributed as dist\ndist.init_process_group('gloo')\n"
    "print('up', dist.get_rank(), flush=True)\ndist.destroy_process_group()",
}
_LINES = ("up 0", "up 1")


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
        times = by_turns(
            lambda: _cell(kernel, body), lambda: _script(script), given.tries
        )
    report(f"first line of both ranks ({given.body})", "torchrun --standalone", *times)


def _cell(kernel: Kernel, body: str) -> float:
    start = time.perf_counter()
    handle = kernel.start(f"%%torchrun --nproc_per_node 2\n{body}")
    for line in _LINES:
        kernel.wait_for_output(handle, line)
    seconds = time.perf_counter() - start
    assert handle.wait().error is None, handle.cell.text
    return seconds


def _script(script: Path) -> float:
    start = time.perf_counter()
    process = torchrun(script, script.with_name("stderr"))
    assert process.stdout is not None
    missing = set(_LINES)
    while missing and (line := process.stdout.readline()):
        missing.discard(line.strip())
    seconds = time.perf_counter() - start
    process.communicate()
    assert not missing, script.with_name("stderr").read_text()
    return seconds


if __name__ == "__main__":
    main()
