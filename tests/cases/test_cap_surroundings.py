"""Capture: modules, files and the state of the kernel around a cell."""

from __future__ import annotations

import re
import socket

import pytest

from tests.kernels import Kernel, ranks


def test_cap_18_a_helper_module_beside_the_notebook_is_found(kernel: Kernel) -> None:
    kernel.ok(
        "import pathlib, sys\n"
        "pathlib.Path('libx').mkdir(exist_ok=True)\n"
        "pathlib.Path('libx/helper_a.py').write_text('def scale(x): return 2 * x\\n')\n"
        "pathlib.Path('helper_c.py').write_text('three = 3\\n')\n"
        "sys.path.insert(0, 'libx'); from helper_a import scale"
    )
    cell = kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(scale(3)); import helper_a, helper_c, os\n"
        "os.chdir('/'); import json.tool\n"
        "print(helper_a.scale(4), helper_c.three)"
    )
    assert ranks(cell.stdout) == {0: ["6", "8 3"], 1: ["6", "8 3"]}


def test_cap_19_a_helper_edited_after_its_import_is_warned_about(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "import importlib, pathlib; importlib.invalidate_caches()\n"
        "file = pathlib.Path('helper_b.py')\n"
        "file.write_text('def scale(x): return 2 * x\\n'); import helper_b\n"
        "file.write_text('def scale(x): return 200 * x\\n')"
    )
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2\nprint(helper_b.scale(3))")
    assert ranks(cell.stdout) == {0: ["600"], 1: ["600"]}
    warnings = [line for line in cell.notes if "helper_b" in line]
    assert len(warnings) == 1
    assert shared_kernel.value("helper_b.scale(3)") == 6


def test_cap_19_an_unchanged_helper_is_not_warned_about(shared_kernel: Kernel) -> None:
    shared_kernel.ok(
        "import importlib, pathlib; importlib.invalidate_caches()\n"
        "pathlib.Path('helper_d.py').write_text('four = 4\\n'); import helper_d"
    )
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2\nprint(helper_d.four)")
    assert ranks(cell.stdout) == {0: ["4"], 1: ["4"]}
    assert "helper_d" not in "".join(cell.notes)


def test_cap_20_a_patched_library_is_stock_in_the_rank_and_the_error_shows_the_line(
    shared_kernel: Kernel, readme: str
) -> None:
    shared_kernel.ok(
        "import torch.nn.functional as F\nF.myact = lambda x: x",
    )
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2\n"
        "print(hasattr(F, 'myact'))\n"
        "F.myact(torch.ones(1))"
    )
    shared_kernel.ok("del F.myact")
    assert ranks(cell.stdout) == {0: ["False"], 1: ["False"]}
    assert cell.error is not None
    assert re.search(r"-> 3 F\.myact\(torch\.ones\(1\)\)", cell.error.traceback)
    assert "AttributeError" in cell.error.traceback
    assert "patch" in readme


@pytest.mark.slow
def test_cap_21_a_kernel_with_its_own_process_group_starts_jobs(kernel: Kernel) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kernel.ok(
        "import os, torch, torch.distributed as dist\n"
        "from accelerate import Accelerator; Accelerator(cpu=True)\n"
        f"os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='{port}',"
        " RANK='0', WORLD_SIZE='1')\n"
        "torch.distributed.init_process_group('gloo')"
    )
    cell = kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "dist.init_process_group('gloo'); t = torch.ones(1); dist.all_reduce(t)\n"
        "print(t.item())"
    )
    assert ranks(cell.stdout) == {0: ["2.0"], 1: ["2.0"]}
    kernel.ok("t = torch.ones(1); dist.all_reduce(t); dist.barrier()")
    assert kernel.value("(t.item(), dist.get_world_size())") == (1.0, 1)
    assert kernel.value("os.environ['WORLD_SIZE']") == "1"
    kernel.ok("dist.destroy_process_group()")


def test_cap_22_a_tensor_with_a_graph_is_warned_about_by_name(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("w = torch.ones(2, requires_grad=True); y = w * 2")
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\ny.sum().backward(); print(w.grad)"
    )
    assert ranks(cell.stdout) == {0: ["None"], 1: ["None"]}
    warnings = [line for line in cell.notes if "graph" in line]
    assert len(warnings) == 1
    assert re.search(r"\by\b", warnings[0])


def test_cap_23_the_readme_says_that_seeds_and_default_dtype_are_not_carried(
    readme: str,
) -> None:
    assert "seed" in readme
    assert "dtype" in readme


def test_cap_24_the_level_of_the_root_logger_is_passed_on(kernel: Kernel) -> None:
    kernel.ok(
        "import logging\n"
        "logging.basicConfig(level=logging.INFO, force=True)\n"
        "logger = logging.getLogger('demo')"
    )
    cell = kernel.ok("%%torchrun --nproc_per_node 2\nlogger.info('hello')")
    lines = ranks(cell.stderr)
    assert sorted(lines) == [0, 1]
    assert all(any("hello" in line for line in lines[rank]) for rank in lines)


def test_cap_24_a_kernel_without_logging_set_up_shows_warnings_only(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("import logging; logger = logging.getLogger('demo')")
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\nlogger.info('quiet'); logger.warning('loud')"
    )
    assert "quiet" not in cell.text
    assert all("loud" in line for line in ranks(cell.stderr)[0])
