"""Launching: what a new user gets wrong, and odd but lawful surroundings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kernels import Kernel, ranks
from tests.mounts import mounted_tmpfs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CELL = "%%torchrun --nproc_per_node 2 --out x\nx = 1; print('ran')"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--nproc_per_node", "--nproc-per-node"),
        ("--nproc_per_node 2 --max_restarts -1", "--max-restarts"),
        ("--nproc_per_node 2 --max_restarts some", "--max-restarts"),
        ("--nproc_per_node 2 --timeout soon", "--timeout"),
        ("--nproc_per_node 2 --timeout 0", "--timeout"),
        ("--nproc_per_node 2 --show-ranks 2", "rank 2"),
        ("--nproc_per_node 2 --show-ranks first", "--show-ranks"),
        ("--nproc_per_node 2 --master_port 99999", "99999"),
        ("--nproc_per_node 2 --env NAME", "NAME=VALUE"),
        ("--nproc_per_node 2 --out 2x", "2x"),
        ("--nproc_per_node 2 train.py", "train.py"),
        ("--standalone --master-port 29500", "--standalone"),
        ("--rdzv_endpoint localhost:0", "free"),
        ("--rdzv_backend c10d --master-port 29500", "--master-port"),
        ("--start_method wish", "fork"),
        ("--monitor_interval often", "--monitor-interval"),
    ],
)
def test_lnch_a_wrong_option_costs_one_line(
    shared_kernel: Kernel, line: str, says: str
) -> None:
    message = shared_kernel.refused(f"%%torchrun {line}\nx = 1")
    assert says in message
    assert len(message.splitlines()) == 1


def test_lnch_an_empty_cell_starts_nothing_or_succeeds(shared_kernel: Kernel) -> None:
    cell = shared_kernel.run("%%torchrun --nproc_per_node 2\n")
    assert "Traceback" not in cell.text
    assert cell.error is None or cell.error.ename == "UsageError"


def test_lnch_a_file_in_the_place_of_the_home_folder_costs_one_line(
    make_kernel: Callable[..., Kernel], tmp_path: Path
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("in the way")
    kernel = make_kernel(env={"NBTUNE_HOME": str(blocked)})
    message = kernel.refused(_CELL)
    assert str(blocked) in message
    assert "NBTUNE_HOME" in message
    assert len(message.splitlines()) == 1
    assert blocked.read_text() == "in the way"


def test_lnch_a_read_only_home_costs_one_line(
    make_kernel: Callable[..., Kernel], tmp_path: Path
) -> None:
    home = tmp_path / "readonly"
    with mounted_tmpfs(home, "ro"):
        kernel = make_kernel(env={"NBTUNE_HOME": str(home)})
        message = kernel.refused(_CELL)
    assert str(home) in message
    assert "NBTUNE_HOME" in message
    assert len(message.splitlines()) == 1


def test_lnch_a_relative_home_stays_where_it_was_first_used(
    make_kernel: Callable[..., Kernel], tmp_path: Path
) -> None:
    kernel = make_kernel(env={"NBTUNE_HOME": "jobs here"})
    kernel.ok(_CELL)
    assert (tmp_path / "jobs here" / "jobs").is_dir()


@pytest.mark.parametrize("name", ["HOME", "NBTUNE_HOME"])
def test_lnch_no_home_variable_does_not_matter(
    make_kernel: Callable[..., Kernel], tmp_path: Path, name: str
) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), name: None}
    kernel = make_kernel(env=env)
    assert ranks(kernel.ok(_CELL).stdout) == {0: ["ran"], 1: ["ran"]}
    assert kernel.value("x") == 1


def test_lnch_without_any_home_the_job_runs_or_says_what_to_set(
    make_kernel: Callable[..., Kernel],
) -> None:
    kernel = make_kernel(
        env={
            "HOME": "/nonexistent/user",
            "NBTUNE_HOME": "/proc/nowhere",
            "XDG_STATE_HOME": None,
        }
    )
    message = kernel.refused(_CELL)
    assert "/proc/nowhere" in message
    assert "NBTUNE_HOME" in message
    assert len(message.splitlines()) == 1


def test_lnch_folders_with_blanks_and_quotes_are_fine(
    make_kernel: Callable[..., Kernel], tmp_path: Path
) -> None:
    cwd = tmp_path / 'it\'s a "good" folder; $HOME {x} #1 \u2713'
    cwd.mkdir()
    (cwd / "beside.py").write_text("def f(): return 'beside'")
    kernel = make_kernel(cwd=cwd, env={"NBTUNE_HOME": str(cwd / "home of 'jobs'")})
    kernel.ok("import os, beside")
    cell = kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(beside.f(), os.path.basename(os.getcwd()))"
    )
    line = f"beside {cwd.name}"
    assert ranks(cell.stdout) == {0: [line], 1: [line]}


def test_lnch_a_working_folder_that_is_gone_costs_one_line(kernel: Kernel) -> None:
    kernel.ok("import os\nos.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')")
    message = kernel.refused(_CELL)
    assert "working" in message
    assert len(message.splitlines()) == 1
    kernel.ok("os.chdir('/')")
    kernel.ok(_CELL)


def test_lnch_a_kernel_without_file_descriptors_recovers(kernel: Kernel) -> None:
    kernel.ok(
        "import resource\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "import os; most = len(os.listdir('/proc/self/fd')) + 4\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))"
    )
    cell = kernel.run(_CELL)
    kernel.ok("resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))")
    assert "Too many open files" in cell.text
    assert "nbtune/" not in cell.text
    assert len(cell.text.strip().splitlines()) <= 3
    kernel.ok(_CELL)
    assert kernel.value("x") == 1
