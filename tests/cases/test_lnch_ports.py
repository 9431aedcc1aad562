"""Launching: where the ranks meet."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.kernels import Kernel, ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_NEWUTS = 0x04000000  # unshare(2)
_SUM = (
    'dist.init_process_group("gloo"); t = torch.ones(1); dist.all_reduce(t)\n'
    "print(t.item())"
)


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on which this process listens."""
    with socket.socket() as listening:
        listening.bind(("", 0))
        listening.listen()
        yield listening.getsockname()[1]


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


@pytest.mark.slow
def test_lnch_01_jobs_of_two_kernels_run_at_the_same_time(
    make_kernel: Callable[..., Kernel], tmp_path: Path
) -> None:
    kernels = [make_kernel(), make_kernel()]
    for kernel in kernels:
        kernel.ok("import os, time, torch, torch.distributed as dist")
    handles = [
        kernel.start(
            "%%torchrun --nproc_per_node 2\n"
            f"here, there = {str(tmp_path / mine)!r}, {str(tmp_path / other)!r}\n"
            "open(here, 'w').close()\n"
            f"while not os.path.exists(there): time.sleep(0.01)\n{_SUM}"
        )
        for kernel, mine, other in zip(kernels, ("a", "b"), ("b", "a"), strict=True)
    ]
    for handle in handles:
        cell = handle.wait()
        assert cell.error is None, cell.text
        assert ranks(cell.stdout) == {0: ["2.0"], 1: ["2.0"]}


def test_lnch_01_nothing_listens_outside_loopback(
    shared_kernel: Kernel, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    shared_kernel.ok("import time")
    handle = shared_kernel.start(
        "%%torchrun --nproc_per_node 2\n"
        'dist.init_process_group("gloo")\n'
        "print('joined')\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)"
    )
    shared_kernel.wait_for_output(handle, "[0] joined")
    shared_kernel.wait_for_output(handle, "[1] joined")
    listening = {
        connection.laddr.ip
        for process in shared_kernel.processes()
        if process.pid != shared_kernel.pid
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    go.touch()
    assert handle.wait().error is None
    assert listening == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("options", "cure"),
    [
        ("--master_port {port}", "leave it out to get a free one"),
        ("--master-port={port}", "leave it out to get a free one"),
        ("--rdzv_endpoint 127.0.0.1:{port}", "leave it out to get a free one"),
        ("--rdzv_backend c10d --rdzv_endpoint localhost:{port}", "free one"),
    ],
)
def test_lnch_02_a_named_port_that_is_taken_costs_one_line(
    shared_kernel: Kernel, taken_port: int, options: str, cure: str
) -> None:
    line = options.format(port=taken_port)
    message = shared_kernel.refused(f"%%torchrun --nproc_per_node 2 {line}\nx = 1")
    assert f"port {taken_port} is in use" in message
    assert cure in message
    assert len(message.splitlines()) == 1


def test_lnch_02_port_0_is_a_free_port(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        f"%%torchrun --nproc_per_node 2 --master_port 0\n{_SUM}\n"
        "print(int(os.environ['MASTER_PORT']) > 0)"
    )
    assert ranks(cell.stdout) == {0: ["2.0", "True"], 1: ["2.0", "True"]}


@pytest.mark.parametrize(
    "options",
    ["--master_port {port}", "--rdzv_backend c10d --rdzv_endpoint 127.0.0.1:{port}"],
)
def test_lnch_02_a_named_port_is_used_exactly(
    shared_kernel: Kernel, options: str
) -> None:
    port = _free_port()
    shared_kernel.ok("import socket")
    line = options.format(port=port)
    cell = shared_kernel.ok(
        f"%%torchrun --nproc_per_node 2 {line}\n{_SUM}\n"
        f"socket.create_connection(('127.0.0.1', {port})).close()"
    )
    assert ranks(cell.stdout) == {0: ["2.0"], 1: ["2.0"]}


def test_lnch_03_an_error_names_the_variable_that_it_comes_from(
    shared_kernel: Kernel, taken_port: int
) -> None:
    shared_kernel.ok(f"os.environ['PET_MASTER_PORT'] = '{taken_port}'")
    try:
        message = shared_kernel.refused("%%torchrun --nproc_per_node 2\nx = 1")
    finally:
        shared_kernel.ok("del os.environ['PET_MASTER_PORT']")
    assert "PET_MASTER_PORT" in message
    assert f"port {taken_port} is in use" in message
    assert len(message.splitlines()) == 1


def test_lnch_03_a_default_of_the_environment_counts_and_is_shown(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("os.environ['PET_NPROC_PER_NODE'] = '2'")
    try:
        used = shared_kernel.ok("%%torchrun\nprint(os.environ['WORLD_SIZE'])")
        overridden = shared_kernel.ok(
            "%%torchrun --nproc_per_node 1\nprint(os.environ['WORLD_SIZE'])"
        )
    finally:
        shared_kernel.ok("del os.environ['PET_NPROC_PER_NODE']")
    assert ranks(used.stdout) == {0: ["2"], 1: ["2"]}
    assert "PET_NPROC_PER_NODE=2" in used.text
    assert ranks(overridden.stdout) == {0: ["1"]}
    assert "PET_NPROC_PER_NODE" not in overridden.text


def test_lnch_05_an_unresolvable_host_name_does_not_matter(kernel: Kernel) -> None:
    kernel.ok("import ctypes, os, socket, torch, torch.distributed as dist")
    kernel.ok(
        f"code = ctypes.CDLL(None, use_errno=True).unshare({_NEWUTS})\n"
        "why = os.strerror(ctypes.get_errno())"
    )
    if kernel.value("code"):
        pytest.skip(f"no host name of its own for a process: {kernel.value('why')}")
    kernel.ok("socket.sethostname('bogus.invalid')")
    cell = kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "assert socket.gethostname() == 'bogus.invalid'\n"
        "try: socket.getaddrinfo('bogus.invalid', 80)\n"
        "except socket.gaierror: pass\n"
        "else: raise AssertionError('it resolves')\n"
        f"{_SUM}"
    )
    assert ranks(cell.stdout) == {0: ["2.0"], 1: ["2.0"]}
    assert "warn" not in cell.stderr.lower()


def test_lnch_09_no_option_at_all_is_one_rank_outside_the_kernel(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        "%%torchrun\n"
        'dist.init_process_group("gloo"); print(dist.get_world_size())\n'
        "print(os.environ['RANK'], os.environ['LOCAL_RANK'])\n"
        f"print(os.getpid() == {shared_kernel.pid})"
    )
    assert ranks(cell.stdout) == {0: ["1", "0 0", "False"]}
    assert shared_kernel.value("dist.is_initialized()") is False


@pytest.mark.parametrize(
    "options",
    [
        "--nnodes 2",
        "--nnodes 1:2",
        "--nnodes=2 --rdzv_backend c10d --rdzv_endpoint 127.0.0.1:29655",
    ],
)
def test_lnch_14_several_machines_are_refused_in_one_line(
    shared_kernel: Kernel, options: str
) -> None:
    message = shared_kernel.refused(f"%%torchrun {options} --nproc_per_node 1\nx = 1")
    assert "nnodes" in message
    assert "not supported" in message
    assert len(message.splitlines()) == 1
