"""Fixtures of all rooms: real kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kernels import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def make_kernel(tmp_path: Path) -> Iterator[Callable[..., Kernel]]:
    """Start kernels with an environment of their own; nbtune is loaded."""
    kernels: list[Kernel] = []

    def make(
        *,
        env: dict[str, str | None] | None = None,
        cwd: Path | None = None,
        load: bool = True,
    ) -> Kernel:
        folder = tmp_path / f"kernel{len(kernels)}" if kernels else tmp_path
        folder.mkdir(exist_ok=True)
        kernels.append(Kernel(folder, env=env, cwd=cwd))
        if load:
            kernels[-1].ok("%load_ext nbtune")
        return kernels[-1]

    yield make
    problems = [problem for kernel in kernels for problem in kernel.stop()]
    assert not problems, "\n".join(problems)


@pytest.fixture
def kernel(make_kernel: Callable[..., Kernel]) -> Kernel:
    """A fresh kernel in ``tmp_path``, its home in ``tmp_path / "home"``."""
    return make_kernel()


@pytest.fixture(scope="module")
def _kernel_of_module(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[], Kernel]]:
    """Hand out one kernel, or a new one when a test has spoilt it."""
    kernels: list[Kernel] = []

    def current() -> Kernel:
        if not kernels or not kernels[-1].free:
            kernels.append(Kernel(tmp_path_factory.mktemp("kernel")))
            kernels[-1].ok("%load_ext nbtune")
        return kernels[-1]

    yield current
    problems = [problem for kernel in kernels for problem in kernel.stop()]
    assert not problems, "\n".join(problems)


@pytest.fixture
def shared_kernel(_kernel_of_module: Callable[[], Kernel], tmp_path: Path) -> Kernel:
    """The module's kernel with an empty namespace, in ``tmp_path``."""
    kernel = _kernel_of_module()
    kernel.ok("%reset -f")
    kernel.ok(f"import os; os.chdir({str(tmp_path)!r}); del os")
    kernel.ok("import os, torch, torch.distributed as dist")
    return kernel
