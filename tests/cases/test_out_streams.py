"""Output: what writes it, and on which stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kernels import Kernel, ranks

if TYPE_CHECKING:
    from collections.abc import Callable

_ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def test_out_08_text_written_at_exit_is_shown(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "import atexit; atexit.register(lambda: print('bye', os.environ['RANK']))"
    )
    assert ranks(cell.stdout) == {0: ["bye 0"], 1: ["bye 1"]}


def test_out_08_an_error_at_exit_is_shown_and_fails_nothing(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out x\n"
        "import atexit; atexit.register(lambda: 1 / 0); x = 1"
    )
    assert shared_kernel.value("x") == 1
    for lines in ranks(cell.stderr).values():
        assert sum("ZeroDivisionError" in line for line in lines) == 1
    assert set(ranks(cell.stderr)) == {0, 1}


def test_out_09_a_warning_is_shown_once_a_rank_on_stderr(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "import warnings\n"
        "for _ in range(3): warnings.warn('shapes differ')"
    )
    assert ranks(cell.stdout) == {}
    warned = ranks(cell.stderr)
    for rank in 0, 1:
        assert sum("UserWarning: shapes differ" in line for line in warned[rank]) == 1


def test_out_10_text_from_c_and_from_child_processes_is_shown(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("import subprocess")
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print('from Python')\n"
        'os.write(1, b"from C\\n"); subprocess.run(["echo", "from child"])\n'
        "print('from Python again');"
    )
    lines = ["from Python", "from C", "from child", "from Python again"]
    assert ranks(cell.stdout) == {0: lines, 1: lines}


def test_out_11_stdout_and_stderr_are_told_apart(shared_kernel: Kernel) -> None:
    shared_kernel.ok("import sys")
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        'print("out"); print("err", file=sys.stderr); os.write(2, b"low\\n");'
    )
    assert ranks(cell.stdout) == {0: ["out"], 1: ["out"]}
    assert ranks(cell.stderr) == {0: ["err", "low"], 1: ["err", "low"]}


def test_out_18_ranks_write_utf_8_in_any_locale(
    make_kernel: Callable[..., Kernel],
) -> None:
    kernel = make_kernel(env={**_ASCII, "LANG": None})
    kernel.ok("word = '\u00fcber'\ndef f(): return '\u00e9'")
    cell = kernel.ok(
        "%%torchrun --nproc_per_node 2 --out '*' --name '\u2713'\n"
        'import sys; print("\\u2713", "\u2713", word, f())\n'
        "print('\u2713', file=sys.stderr); back = '\u2713 back'"
    )
    line = "\u2713 \u2713 \u00fcber \u00e9"
    assert ranks(cell.stdout) == {0: [line], 1: [line]}
    assert ranks(cell.stderr) == {0: ["\u2713"], 1: ["\u2713"]}
    assert kernel.value("back") == "\u2713 back"


def test_out_18_errors_are_told_in_any_locale(
    make_kernel: Callable[..., Kernel],
) -> None:
    kernel = make_kernel(env={**_ASCII, "LANG": None})
    cell = kernel.run(
        "%%torchrun --nproc_per_node 2\nraise ValueError('\u2713')  # \u2717"
    )
    assert cell.error is not None
    assert "ValueError: \u2713" in cell.error.traceback
    assert "# \u2717" in cell.error.traceback
