"""Errors: ranks that ended without an exception, and jobs that had no ranks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.kernels import Cell, CellError, Kernel, ranks

if TYPE_CHECKING:
    from typing import Any


def _failed(cell: Cell, ename: str = "WorkerError") -> CellError:
    assert cell.error is not None, cell.text
    assert cell.error.ename == ename, cell.text
    return cell.error


def _attribute(kernel: Kernel, name: str) -> Any:
    return kernel.value(f"__import__('sys').last_value.{name}")


def test_err_03_an_exit_with_a_text_says_the_text(shared_kernel: Kernel) -> None:
    shared_kernel.ok("import signal, sys")
    error = _failed(
        shared_kernel.run(
            "%%torchrun --nproc_per_node 2\n"
            "if os.environ['RANK'] == '1': sys.exit('config has no model section')\n"
            "signal.pause()"
        )
    )
    assert "rank 1" in error.evalue
    assert "exited with: config has no model section" in error.traceback
    assert re.search(r"-> 2 if os\.environ", error.traceback)
    assert _attribute(shared_kernel, "exception") == "SystemExit"
    assert _attribute(shared_kernel, "exitcode") == 1


def test_err_03_an_exit_with_a_number_says_the_number(shared_kernel: Kernel) -> None:
    error = _failed(
        shared_kernel.run(
            "%%torchrun --nproc_per_node 2\nimport sys\nx = 1\nsys.exit(3)"
        )
    )
    assert re.search(r"exit(ed with)?( code)? 3", error.evalue)
    assert re.search(r"-> 4 sys\.exit\(3\)", error.traceback)
    assert _attribute(shared_kernel, "exitcode") == 3


@pytest.mark.parametrize("code", ["0", "None", ""])
def test_err_04_a_polite_exit_is_no_failure(shared_kernel: Kernel, code: str) -> None:
    shared_kernel.ok("import sys")
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out y@all,z\n"
        "y = z = 1\n"
        f"if os.environ['RANK'] == '1': sys.exit({code})\n"
        "y = z = 2"
    )
    assert shared_kernel.value("y") == [2, 1]
    assert shared_kernel.value("z") == 2


def test_err_05_a_crash_shows_where_it_happened(shared_kernel: Kernel) -> None:
    shared_kernel.ok("import signal")
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2\n"
        "import ctypes\n"
        "if os.environ['RANK'] == '1': ctypes.string_at(0)\n"
        "signal.pause()"
    )
    error = _failed(cell)
    assert "rank 1 crashed (SIGSEGV)" in error.evalue
    assert "Segmentation fault" in error.traceback
    assert re.search(r"line 3, in <(cell line: 3|module)>", error.traceback)
    assert "ctypes.string_at(0)" in error.traceback
    assert "interactiveshell" not in error.traceback
    assert _attribute(shared_kernel, "signal") == "SIGSEGV"
    assert _attribute(shared_kernel, "exception") == ""
    assert shared_kernel.value("1 + 1") == 2


def test_err_06_a_kill_speaks_of_memory(shared_kernel: Kernel) -> None:
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2\n"
        "import signal\n"
        "print('the last words of', os.environ['RANK'])\n"
        "if os.environ['RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
        "signal.pause()"
    )
    error = _failed(cell)
    assert re.search(r"rank 1 was killed \(SIGKILL\), .*memory", error.evalue)
    assert "the last words of 1" in error.traceback
    assert ranks(cell.stdout)[1] == ["the last words of 1"]
    assert _attribute(shared_kernel, "signal") == "SIGKILL"
    assert _attribute(shared_kernel, "exitcode") == -9


def test_err_06_an_abrupt_exit_is_told_apart(shared_kernel: Kernel) -> None:
    error = _failed(shared_kernel.run("%%torchrun --nproc_per_node 1\nos._exit(5)"))
    assert "exit code 5" in error.evalue
    assert "without an exception" in error.evalue


def test_err_04_an_abrupt_exit_with_status_0_is_no_failure(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out y@all\n"
        "y = 1\n"
        "if os.environ['RANK'] == '1': os._exit(0)\n"
        "y = 2"
    )
    assert shared_kernel.value("y") == [2, 1]


def test_err_12_a_value_that_cannot_be_loaded_is_named(shared_kernel: Kernel) -> None:
    shared_kernel.ok(
        "import sys, types\n"
        "sys.modules['ghost'] = types.ModuleType('ghost')\n"
        "exec('class G: pass', sys.modules['ghost'].__dict__)\n"
        "obj = sys.modules['ghost'].G()"
    )
    cell = shared_kernel.run("%%torchrun --nproc_per_node 2\nprint(obj)")
    executable = shared_kernel.value("sys.executable")
    shared_kernel.ok("del sys.modules['ghost']")
    error = _failed(cell)
    assert "could not load `obj`" in error.evalue
    assert "No module named 'ghost'" in error.evalue
    assert re.match(r"rank [01] ", error.evalue)
    assert executable in error.traceback
    assert len(error.traceback.splitlines()) < 10


def test_err_13_an_unknown_backend_costs_one_line(shared_kernel: Kernel) -> None:
    message = shared_kernel.refused(
        "%%torchrun --nproc_per_node 2 "
        "--rdzv_backend nosuch --rdzv_endpoint 127.0.0.1:29644\nx = 1"
    )
    assert "nosuch" in message
    assert "c10d" in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--rdzv_backend c10d --rdzv_conf store_type=nosuch", "store type"),
        ("--rdzv_backend etcd --rdzv_endpoint 127.0.0.1:29644", "etcd"),
    ],
)
def test_err_13_a_failure_of_the_launcher_is_told_apart_from_one_of_ranks(
    shared_kernel: Kernel, options: str, says: str
) -> None:
    cell = shared_kernel.run(f"%%torchrun --nproc_per_node 2 {options}\nx = 1")
    error = _failed(cell, "LaunchError")
    assert says in error.evalue
    assert not re.search(r"\brank", error.traceback)
    assert len(error.traceback.splitlines()) <= 3


def test_err_17_input_is_refused_at_once(shared_kernel: Kernel) -> None:
    error = _failed(
        shared_kernel.run('%%torchrun --nproc_per_node 2\nname = input("name? ")')
    )
    assert re.search(r"input\(\)", error.evalue)
    assert "rank" in error.evalue
    assert re.search(r"-> 2 name = input", error.traceback)


@pytest.mark.parametrize("call", ["breakpoint()", "import pdb; pdb.set_trace()"])
def test_err_17_a_debugger_never_waits(shared_kernel: Kernel, call: str) -> None:
    cell = shared_kernel.run(f"%%torchrun --nproc_per_node 1\nx = 1\n{call}\ny = 2")
    assert cell.error is not None
    assert "debugger" in cell.error.evalue


def test_err_17_reading_stdin_says_why_there_is_none(shared_kernel: Kernel) -> None:
    error = _failed(
        shared_kernel.run(
            "%%torchrun --nproc_per_node 1\nimport sys; sys.stdin.readline()"
        )
    )
    assert "rank" in error.evalue


def test_err_a_job_that_runs_too_long_is_ended(shared_kernel: Kernel) -> None:
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2 --timeout 3\nimport signal\nsignal.pause()"
    )
    error = _failed(cell, "JobTimeoutError")
    assert "--timeout 3 s" in error.evalue
    assert shared_kernel.value("isinstance(__import__('sys').last_value, TimeoutError)")
