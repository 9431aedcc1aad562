"""From a failing line on one rank to its traceback, relative to torchrun.

Run ``python -m tests.benchmarks.failure_latency`` in the root of the repository. Rank
1 raises after a barrier, while rank 0 is in an ``all_reduce``. The clock starts in
the rank, on the line that raises. It stops when the notebook has the error, and with
torchrun when its process, which prints the error last, has ended.
"""

from __future__ import annotations

import tempfile
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


def main() -> None:
    """Measure and print."""
    given = parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name, notebook() as kernel:
        script, stamp = Path(name) / "body.py", Path(name) / "stamp"
        body = _BODY.format(stamp=str(stamp))
        script.write_text(body)
        times = by_turns(
            lambda: _cell(kernel, body, stamp),
            lambda: _script(script, stamp),
            given.tries,
        )
    report("from the failing line to its traceback", "torchrun --standalone", *times)


def _cell(kernel: Kernel, body: str, stamp: Path) -> float:
    handle = kernel.start(f"%%torchrun --nproc_per_node 2\n{body}")
    kernel.pump(lambda: handle.cell.error is not None, 60, handle.cell)
    end = time.time()
    assert "ValueError: on purpose" in handle.cell.text, handle.cell.text
    handle.wait()
    return end - float(stamp.read_text())


def _script(script: Path, stamp: Path) -> float:
    log = script.with_name("stderr")
    process = torchrun(script, log)
    process.communicate()
    end = time.time()
    assert "ValueError: on purpose" in log.read_text(), log.read_text()
    return end - float(stamp.read_text())


if __name__ == "__main__":
    main()
