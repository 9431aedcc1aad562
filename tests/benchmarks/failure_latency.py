"""From a failing line on one rank to its traceback, relative to torchrun.

Run ``python -m tests.benchmarks.failure_latency`` in the root of the repository. Rank
1 raises after a barrier, while rank 0 is in an ``all_reduce``. The clock starts in
the rank, on the line that raises, and stops when the notebook has the error. With
torchrun it is read twice: when its process has ended, and when its stderr has shown
the error in the report at its end, which says what failed only to ranks under
``@record``, so this body runs under it. A traceback that the rank's interpreter
writes by itself, among whatever else the ranks write, is there at once; the last
figure says when.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import textwrap
import time
from pathlib import Path

from tests.benchmarks.turns import by_turns, notebook, parser, report, torchrun
from tests.kernels import Kernel

_BODY = """\
import time, torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    with open({stamp!r}, "w") as file:
        file.write(str(time.time()))
    raise ValueError("on purpose")
dist.all_reduce(torch.ones(1))
"""
_RECORDED = """\
from torch.distributed.elastic.multiprocessing.errors import record
@record
def main():
{body}
main()
"""
_ERROR = "ValueError: on purpose"
_RIVALS = ("the end of torchrun", "torchrun's report")


def main() -> None:
    """Measure and print."""
    given = parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name, notebook() as kernel:
        script, stamp = Path(name) / "body.py", Path(name) / "stamp"
        body = _BODY.format(stamp=os.fspath(stamp))
        script.write_text(_RECORDED.format(body=textwrap.indent(body, "    ")))
        ours, theirs = by_turns(
            lambda: _cell(kernel, body, stamp),
            lambda: _script(script, stamp),
            given.rounds,
        )
    for index, rival in enumerate(_RIVALS):
        report(
            "from the failing line to its traceback",
            rival,
            ours,
            [times[index] for times in theirs],
        )
    own = statistics.median(times[-1] for times in theirs)
    print(f"the rank's own traceback under torchrun: median {own:.3f} s")


def _cell(kernel: Kernel, body: str, stamp: Path) -> float:
    handle = kernel.start(f"%%torchrun --nproc_per_node 2\n{body}")
    kernel.pump(lambda: handle.cell.error is not None, 60, handle.cell)
    end = time.time()
    assert _ERROR in handle.cell.text, handle.cell.text
    handle.wait()
    return end - float(stamp.read_text())


def _script(script: Path, stamp: Path) -> tuple[float, ...]:
    process = torchrun(script, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    lines = [(time.time(), line) for line in process.stderr]
    process.wait()
    end = time.time()
    shown = [when for when, line in lines if _ERROR in line]
    text = "".join(line for _, line in lines)
    assert text.rfind(_ERROR) > text.find("Root Cause") > 0, text
    start = float(stamp.read_text())
    return end - start, shown[-1] - start, shown[0] - start


if __name__ == "__main__":
    main()
