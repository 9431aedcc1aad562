"""Launching: how many ranks, in which surroundings, how often."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kernels import Kernel, ranks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_lnch_04_rank_variables_of_the_kernel_do_not_reach_the_ranks(
    kernel: Kernel,
) -> None:
    kernel.ok(
        "import os\n"
        "os.environ.update(RANK='5', WORLD_SIZE='9', LOCAL_RANK='3', MASTER_PORT='1')\n"
        "before = dict(os.environ)"
    )
    cell = kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(os.environ['RANK'], os.environ['WORLD_SIZE'], os.environ['LOCAL_RANK'],"
        " os.environ['MASTER_PORT'] == '1')"
    )
    assert ranks(cell.stdout) == {0: ["0 2 0 False"], 1: ["1 2 1 False"]}
    assert kernel.value("dict(os.environ) == before")


def test_lnch_06_threads_are_shared_out_without_a_banner(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(os.environ['OMP_NUM_THREADS'], torch.get_num_threads())"
    )
    threads = max(1, len(os.sched_getaffinity(0)) // 2)
    line = f"{threads} {threads}"
    assert ranks(cell.stdout) == {0: [line], 1: [line]}
    assert "***" not in cell.text
    assert "Setting OMP_NUM_THREADS" not in cell.text


def test_lnch_06_a_thread_count_of_the_kernel_is_honoured(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("os.environ['OMP_NUM_THREADS'] = '2'")
    try:
        cell = shared_kernel.ok(
            "%%torchrun --nproc_per_node 2\n"
            "print(os.environ['OMP_NUM_THREADS'], torch.get_num_threads())"
        )
    finally:
        shared_kernel.ok("del os.environ['OMP_NUM_THREADS']")
    assert ranks(cell.stdout) == {0: ["2 2"], 1: ["2 2"]}


@pytest.mark.parametrize(
    ("count", "cure"),
    [
        ("two", "use a number"),
        ("0", "1"),
        ("-1", "1"),
        ("2.5", "number"),
        ("1000000", "1024"),
    ],
)
def test_lnch_07_a_count_that_makes_no_sense_costs_one_line(
    shared_kernel: Kernel, count: str, cure: str
) -> None:
    message = shared_kernel.refused(f"%%torchrun --nproc_per_node {count}\nx = 1")
    assert "--nproc-per-node" in message
    assert count in message
    assert cure in message
    assert len(message.splitlines()) == 1


def test_lnch_07_gpu_without_one_says_what_to_use(
    make_kernel: Callable[..., Kernel],
) -> None:
    kernel = make_kernel(env={"CUDA_VISIBLE_DEVICES": ""})
    message = kernel.refused("%%torchrun --nproc_per_node gpu\nx = 1")
    assert "no GPU here, use a number, cpu or auto" in message
    assert len(message.splitlines()) == 1


def test_lnch_07_cpu_is_the_number_of_cores(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok("%%torchrun --nproc_per_node cpu\nprint('here')")
    assert set(ranks(cell.stdout)) == set(range(len(os.sched_getaffinity(0))))


@pytest.mark.parametrize(
    "options", ["--nproc-per-node=2", "--nproc_per_node=2", "--nproc 2"]
)
def test_lnch_08_dashes_underscores_and_short_forms_are_the_same(
    shared_kernel: Kernel, options: str
) -> None:
    cell = shared_kernel.ok(f"%%torchrun {options}\nprint('x')")
    assert ranks(cell.stdout) == {0: ["x"], 1: ["x"]}


def test_lnch_10_ranks_run_the_interpreter_of_the_kernel(
    make_kernel: Callable[..., Kernel],
) -> None:
    kernel = make_kernel(env={"PATH": "/usr/bin"})
    cell = kernel.ok("%%torchrun --nproc_per_node 2\nimport sys; print(sys.executable)")
    assert kernel.value("__import__('sys').executable") == sys.executable
    assert ranks(cell.stdout) == {0: [sys.executable], 1: [sys.executable]}


def test_lnch_11_a_log_folder_that_cannot_be_written_is_named(
    shared_kernel: Kernel,
) -> None:
    message = shared_kernel.refused(
        "%%torchrun --nproc_per_node 2 --log_dir /etc/hostname/x\nx = 1"
    )
    assert "/etc/hostname/x" in message
    assert "--log-dir" in message
    assert len(message.splitlines()) == 1


def test_lnch_11_a_log_folder_gets_all_output(
    shared_kernel: Kernel, tmp_path: Path
) -> None:
    logs = tmp_path / "my logs"
    shared_kernel.ok(f"%%torchrun --nproc_per_node 2 --log_dir '{logs}'\nprint('kept')")
    texts = sorted(path.read_text() for path in logs.rglob("stdout.log"))
    assert texts == ["kept\n", "kept\n"]


def test_lnch_11_a_missing_temp_folder_does_not_matter(
    make_kernel: Callable[..., Kernel], tmp_path: Path
) -> None:
    kernel = make_kernel(env={"TMPDIR": str(tmp_path / "gone")})
    cell = kernel.ok("%%torchrun --nproc_per_node 2\nprint('x')")
    assert ranks(cell.stdout) == {0: ["x"], 1: ["x"]}


def test_lnch_12_working_folder_and_environment_are_those_of_the_notebook(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "os.makedirs('sub'); os.chdir('sub')\n"
        "with open('data.bin', 'w') as file: file.write('x')\n"
        "os.environ['MY_FLAG'] = '1'"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(open('data.bin').read(), os.environ['MY_FLAG'])"
    )
    assert ranks(cell.stdout) == {0: ["x 1"], 1: ["x 1"]}


def test_lnch_13_a_cell_is_not_started_again_by_default(shared_kernel: Kernel) -> None:
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2\n"
        "print('started')\n"
        'raise RuntimeError("attempt " + os.environ["TORCHELASTIC_RESTART_COUNT"])'
    )
    assert ranks(cell.stdout) == {0: ["started"], 1: ["started"]}
    assert cell.error is not None
    assert "attempt 0" in cell.error.evalue


def test_lnch_13_restarts_are_marked_and_the_last_error_is_shown(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2 --max_restarts 1\n"
        'count = os.environ["TORCHELASTIC_RESTART_COUNT"]\n'
        "print('started', count)\n"
        'raise RuntimeError("this is attempt " + count)'
    )
    assert cell.error is not None
    assert "this is attempt 1" in cell.error.evalue
    assert "this is attempt 0" not in cell.error.traceback
    before, mark, after = cell.stdout.partition("nbtune: attempt 1")
    assert mark, cell.text
    assert set(ranks(before)) <= {0, 1}
    assert "started 1" not in before
    assert ranks(after) == {0: ["started 1"], 1: ["started 1"]}


def test_lnch_13_an_attempt_that_succeeds_is_the_end(shared_kernel: Kernel) -> None:
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --max_restarts 3 --out count\n"
        'dist.init_process_group("gloo"); dist.barrier()\n'
        'count = os.environ["TORCHELASTIC_RESTART_COUNT"]\n'
        'assert count == "1", count\n'
        "dist.barrier()"
    )
    assert shared_kernel.value("count") == "1"
