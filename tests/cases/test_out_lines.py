"""Output: whole lines of each rank, while the job runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kernels import Kernel, ranks

_WAIT = "while not os.path.exists({path!r}): time.sleep(0.01)\n"


def _until(path: Path) -> str:
    return _WAIT.format(path=str(path))


def test_out_01_lines_appear_while_the_job_runs_without_flush(
    shared_kernel: Kernel, tmp_path: Path
) -> None:
    shared_kernel.ok("import time")
    steps = [tmp_path / f"step{number}" for number in range(3)]
    body = "".join(f"print('tick', {n})\n{_until(s)}" for n, s in enumerate(steps))
    handle = shared_kernel.start(f"%%torchrun --nproc_per_node 2\n{body}")
    for number, step in enumerate(steps):
        for rank in 0, 1:
            shared_kernel.wait_for_output(handle, f"[{rank}] tick {number}\n")
        step.touch()
    cell = handle.wait()
    ticks = ["tick 0", "tick 1", "tick 2"]
    assert ranks(cell.stdout) == {0: ticks, 1: ticks}


def test_out_02_pieces_of_a_line_are_put_together(
    shared_kernel: Kernel, tmp_path: Path
) -> None:
    shared_kernel.ok("import sys, time")
    go = tmp_path / "go"
    handle = shared_kernel.start(
        "%%torchrun --nproc_per_node 2\n"
        "sys.stdout.write(f\"r{os.environ['RANK']} loss \"); sys.stdout.flush()\n"
        "print('half', file=sys.stderr)\n"
        f"{_until(go)}"
        "print('0.5'); sys.stdout.write('tail')"
    )
    # Seen after the first piece was written, and before the second one is.
    for rank in 0, 1:
        shared_kernel.wait_for_output(handle, f"[{rank}] half")
    assert "loss" not in handle.cell.stdout
    go.touch()
    cell = handle.wait()
    assert ranks(cell.stdout) == {
        0: ["r0 loss 0.5", "tail"],
        1: ["r1 loss 0.5", "tail"],
    }
    assert all(re.match(r"\[\d\] ", line) for line in cell.stdout.splitlines())


def test_out_03_of_a_progress_bar_the_states_are_kept_not_the_steps(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "from tqdm import tqdm\n"
        "for _ in tqdm(range(50), mininterval=0): pass\n"
        "print('done')"
    )
    assert ranks(cell.stdout) == {0: ["done"], 1: ["done"]}
    bars = ranks(cell.stderr)
    for rank in 0, 1:
        assert len(bars[rank]) <= 5
        assert "50/50" in bars[rank][-1]
    assert "\r" not in cell.text


def test_out_05_bytes_that_are_not_text_and_split_characters(
    shared_kernel: Kernel, tmp_path: Path
) -> None:
    shared_kernel.ok("import sys, time")
    go = tmp_path / "go"
    handle = shared_kernel.start(
        "%%torchrun --nproc_per_node 2\n"
        'os.write(1, b"bad \\xff\\xfe\\n"); text = "caf\\u00e9 \\u2713".encode()\n'
        "os.write(1, text[:7])\n"
        "print('torn', file=sys.stderr)\n"
        f"{_until(go)}"
        'os.write(1, text[7:] + b"\\n"); print("after")'
    )
    for rank in 0, 1:
        shared_kernel.wait_for_output(handle, f"[{rank}] torn")
    go.touch()
    cell = handle.wait()
    lines = ["bad \ufffd\ufffd", "caf\u00e9 \u2713", "after"]
    assert ranks(cell.stdout) == {0: lines, 1: lines}


def test_out_06_a_flood_is_bounded_on_screen_and_whole_on_disk(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "rank = os.environ['RANK']\n"
        "for i in range(30_000): print('line', rank, i)\n"
        "print('the end', rank)"
    )
    shown = ranks(cell.stdout)
    for rank in 0, 1:
        assert shown[rank][-1] == f"the end {rank}"
        assert len(shown[rank]) < 15_000
        (left_out,) = [line for line in shown[rank] if "left out" in line][-1:]
        count = sum(
            int(found[1].replace(",", ""))
            for line in shown[rank]
            if (found := re.match(r"\.\.\. ([\d,]+) lines? left out", line))
        )
        marks = sum("left out" in line for line in shown[rank])
        assert count + len(shown[rank]) - marks == 30_001
        path = left_out.rpartition(" in ")[2]
        lines = Path(path).read_text().splitlines()
        assert lines == [
            *(f"line {rank} {i}" for i in range(30_000)),
            f"the end {rank}",
        ]


@pytest.mark.parametrize(
    ("end", "ename"),
    [("raise RuntimeError('x')", "RuntimeError"), ("os._exit(7)", "exit code 7")],
)
def test_out_07_the_last_words_are_on_screen_before_the_error(
    shared_kernel: Kernel, end: str, ename: str
) -> None:
    shared_kernel.ok("import signal")
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2\n"
        "rank = os.environ['RANK']\n"
        "dist.init_process_group('gloo')\n"
        "print('about to fail', rank)\n"
        "dist.barrier()\n"
        "if rank == '0':\n"
        "    print('half a line', end='')\n"
        f"    {end}\n"
        "signal.pause()"
    )
    assert cell.error is not None
    assert ename in cell.error.traceback
    lines = {0: ["about to fail 0", "half a line"], 1: ["about to fail 1"]}
    assert ranks(cell.stdout) == lines
    assert [o["output_type"] for o in cell.outputs].index("error") == (
        len(cell.outputs) - 1
    )
    before = cell.stdout
    shared_kernel.ok("1")
    assert cell.stdout == before


def test_out_12_a_very_long_line_is_short_on_screen_and_whole_on_disk(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        '%%torchrun --nproc_per_node 2\nprint("y" * 3_000_000); print("done")'
    )
    lines = ranks(cell.stdout)
    for rank in 0, 1:
        assert lines[rank][0].startswith("yyyy")
        assert lines[rank][1:] == ["done"]
    assert len(cell.stdout) < 100_000
    job = shared_kernel.home / "jobs" / shared_kernel.jobs()[-1]
    for rank in "0", "1":
        log = job / "logs" / "0" / rank / "stdout.log"
        assert log.stat().st_size == 3_000_000 + len("\ndone\n")
    assert str(job) in cell.stdout


def test_out_13_control_codes_do_nothing_to_the_page(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        'print("\\033[31mred\\033[0m \\033]0;title\\007 a\\b\\bbc \\x00end")\n'
        'print("<b>bold</b>\\033[2J\\033[H\\x07!")'
    )
    # Colours may stay, nothing else that a terminal would act on.
    plain = re.sub(r"\x1b\[[0-9;]*m", "", cell.stdout)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", plain), repr(plain)
    assert "title" not in plain
    for first, second in ranks(cell.stdout).values():
        assert first.startswith("red ")
        assert first.endswith("end")
        assert second.startswith("<b>bold</b>")
        assert second.endswith("!")


def test_out_13_colour_does_not_run_into_the_next_line(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        '%%torchrun --nproc_per_node 1\nprint("\\033[31mred"); print("plain")'
    )
    first = cell.stdout.splitlines()[0]
    assert "\x1b" not in first or first.endswith("\x1b[0m")


def test_out_only_the_ranks_asked_for_are_shown(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 3 --show-ranks 0,2\nprint('here')"
    )
    assert ranks(cell.stdout) == {0: ["here"], 2: ["here"]}
