"""Resources: little room on the disk, many jobs in one kernel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.kernels import Kernel, ranks
from tests.mounts import mounted_tmpfs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SMALL = "size=1m"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A folder with room for one megabyte."""
    with mounted_tmpfs(tmp_path / "small", _SMALL) as folder:
        yield folder


def test_rs_03_no_room_for_the_payload_costs_one_line(
    small: Path, make_kernel: Callable[..., Kernel]
) -> None:
    kernel = make_kernel(env={"NBTUNE_HOME": str(small)})
    kernel.ok("import torch; big = torch.zeros(3_000_000)")
    message = kernel.refused("%%torchrun --nproc_per_node 2\nx = big.sum()")
    assert f"no space left in {small}" in message
    assert "for the payload (12.0 MB)" in message
    assert len(message.splitlines()) == 1
    assert os.listdir(small / "jobs") == []
    kernel.ok("%%torchrun --nproc_per_node 2\nx = 1")


def test_rs_03_no_room_at_all_costs_one_line(
    small: Path, make_kernel: Callable[..., Kernel]
) -> None:
    with pytest.raises(OSError, match="space"):
        (small / "filler").write_bytes(bytes(2_000_000))
    kernel = make_kernel(env={"NBTUNE_HOME": str(small)})
    message = kernel.refused("%%torchrun --nproc_per_node 2\nx = 1")
    assert "No space left" in message or "no space left" in message
    assert str(small) in message
    assert len(message.splitlines()) == 1
    jobs = small / "jobs"
    assert not jobs.exists() or os.listdir(jobs) == []


def test_rs_03_a_full_temp_folder_does_not_matter(
    small: Path, make_kernel: Callable[..., Kernel]
) -> None:
    with pytest.raises(OSError, match="space"):
        (small / "filler").write_bytes(bytes(2_000_000))
    kernel = make_kernel(env={"TMPDIR": str(small)})
    kernel.ok("import torch; big = torch.zeros(3_000_000)")
    cell = kernel.ok("%%torchrun --nproc_per_node 2 --out n\nn = big.numel(); print(n)")
    assert ranks(cell.stdout) == {0: ["3000000"], 1: ["3000000"]}
    assert os.listdir(small) == ["filler"]


def test_rs_03_no_room_for_results_is_told_by_name(
    small: Path, make_kernel: Callable[..., Kernel]
) -> None:
    kernel = make_kernel(env={"NBTUNE_HOME": str(small)})
    kernel.ok("import torch; big = 'before'")
    cell = kernel.run(
        "%%torchrun --nproc_per_node 2 --out big,n\nbig = torch.zeros(3_000_000); n = 1"
    )
    assert "big" in cell.text
    assert "space" in cell.text
    assert kernel.value("big") == "before"


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_rs_04_twenty_jobs_leave_the_kernel_as_it_was(kernel: Kernel) -> None:
    kernel.ok(
        "def job(body='pass'):\n"
        "    get_ipython().run_cell_magic('torchrun', '--nproc_per_node 1', body)"
    )
    kernel.ok("job()")
    process = psutil.Process(kernel.pid)

    def held() -> tuple[int, int, int]:
        return process.num_fds(), process.num_threads(), len(process.children())

    before = held()
    kernel.ok("for _ in range(18): job()", timeout=200)
    kernel.run("job('1 / 0')")
    kernel.ok("job('print(1)')")
    assert held() == before
