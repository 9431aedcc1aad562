"""Text output where a notebook is not a page: captured, timed, headless, a terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pexpect
import pytest

import nbtune
from tests.kernels import Kernel, ranks

if TYPE_CHECKING:
    from collections.abc import Iterator

_HELLO = "%%torchrun --nproc_per_node 2\nprint('hello')"


def test_text_is_captured_like_any_other(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        "%%capture cap\n%%torchrun --nproc_per_node 2\n"
        "import sys; print('out'); print('err', file=sys.stderr)"
    )
    assert cell.text == ""
    assert ranks(shared_kernel.value("cap.stdout")) == {0: ["out"], 1: ["out"]}
    assert ranks(shared_kernel.value("cap.stderr")) == {0: ["err"], 1: ["err"]}


def test_text_and_result_appear_under_time(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(f"%%time\n{_HELLO}\n6 * 7")
    assert ranks(cell.stdout) == {0: ["hello"], 1: ["hello"]}
    assert "Wall time" in cell.stdout
    assert cell.result == "42"


def test_text_of_a_failing_cell_is_captured(shared_kernel: Kernel) -> None:
    cell = shared_kernel.run(f"%%capture cap\n{_HELLO}\n1 / 0")
    assert cell.error is not None
    assert cell.error.ename == "WorkerError"
    assert "ZeroDivisionError" in cell.error.traceback


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a host that starts kernels by itself."""
    return {
        **os.environ,
        "NBTUNE_HOME": str(tmp_path / "home"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "PYTHONPATH": str(Path(nbtune.__file__).parents[1]),
        "PYTHONWARNINGS": "ignore",
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
    }


def _notebook(path: Path, *cells: str) -> Path:
    book = nbformat.v4.new_notebook()
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    sources = ("%load_ext nbtune", *cells)
    book.cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(book, path)
    return path


def _outputs(path: Path, index: int) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = json.loads(path.read_text())["cells"][index][
        "outputs"
    ]
    return outputs


def _text(outputs: list[dict[str, Any]]) -> str:
    return "".join("".join(o["text"]) for o in outputs if o["output_type"] == "stream")


def _host(name: str, source: Path, result: Path) -> list[str]:
    if name == "papermill":
        return [
            sys.executable,
            "-m",
            "papermill",
            str(source),
            str(result),
            "-k",
            "python3",
        ]
    execute = (
        "import sys, nbformat, nbclient\n"
        "book = nbformat.read(sys.argv[1], 4)\n"
        "try: nbclient.NotebookClient(book, kernel_name='python3').execute()\n"
        "finally: nbformat.write(book, sys.argv[2])"
    )
    return [sys.executable, "-c", execute, str(source), str(result)]


def _run(
    name: str, source: Path, environ: dict[str, str]
) -> tuple[subprocess.CompletedProcess[str], Path]:
    result = source.with_name("result.ipynb")
    done = subprocess.run(
        _host(name, source, result),
        env=environ,
        cwd=source.parent,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done, result


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nbclient", "papermill"])
def test_text_is_in_a_notebook_that_was_run_headless(
    tmp_path: Path, environ: dict[str, str], name: str
) -> None:
    source = _notebook(tmp_path / "in.ipynb", f"{_HELLO}\n'value'")
    done, result = _run(name, source, environ)
    assert done.returncode == 0, done.stderr
    outputs = _outputs(result, -1)
    assert ranks(_text(outputs)) == {0: ["hello"], 1: ["hello"]}
    shown = [o for o in outputs if o["output_type"] == "execute_result"]
    assert "value" in "".join(shown[0]["data"]["text/plain"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nbclient", "papermill"])
def test_text_an_error_makes_a_headless_run_fail(
    tmp_path: Path, environ: dict[str, str], name: str
) -> None:
    source = _notebook(
        tmp_path / "in.ipynb", f"{_HELLO}\n1 / 0", "print('not reached')"
    )
    done, result = _run(name, source, environ)
    assert done.returncode != 0
    assert "ZeroDivisionError" in done.stderr
    book = json.loads(result.read_text())
    (failed,) = [
        cell
        for cell in book["cells"]
        if any(o["output_type"] == "error" for o in cell.get("outputs", ()))
    ]
    assert failed["outputs"][-1]["ename"] == "WorkerError"
    assert ranks(_text(failed["outputs"])) == {0: ["hello"], 1: ["hello"]}


_PROMPT = r"In \[\d+\]: "


@pytest.fixture
def terminal(tmp_path: Path, environ: dict[str, str]) -> Iterator[pexpect.spawn]:
    """IPython in a terminal, without line editing."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor"],
        env={**environ, "TERM": "dumb", "PYTHON_COLORS": "0"},
        cwd=str(tmp_path),
        encoding="utf-8",
        timeout=60,
    )
    try:
        child.expect(_PROMPT)
        yield child
    finally:
        child.close(force=True)


@pytest.mark.slow
def test_text_errors_and_ctrl_c_in_a_terminal(terminal: pexpect.spawn) -> None:
    terminal.sendline("%load_ext nbtune")
    terminal.expect(_PROMPT)
    _cell(terminal, "print('hello')", "6 * 7")
    terminal.expect(_PROMPT)
    text = terminal.before.replace("\r\n", "\n")
    assert ranks(text) == {0: ["hello"], 1: ["hello"]}
    assert re.search(r"Out\[\d+\]: 42", text)

    _cell(terminal, "print('hello')", "1 / 0")
    terminal.expect(_PROMPT)
    text = terminal.before.replace("\r\n", "\n")
    assert re.search(r"-> 3 1 / 0", text)
    assert "ZeroDivisionError: division by zero" in text

    _cell(terminal, "import signal; print('up')", "signal.pause()")
    terminal.expect(r"\[\d\] up")
    terminal.expect(r"\[\d\] up")
    terminal.sendintr()
    terminal.expect(_PROMPT)
    assert re.search(r"KeyboardInterrupt: stopped by you after", terminal.before)
    terminal.sendline("6 * 7")
    terminal.expect(r"Out\[\d+\]: 42")


def _cell(terminal: pexpect.spawn, *lines: str) -> None:
    # Two empty lines end a cell magic.
    for line in ("%%torchrun --nproc_per_node 2", *lines, ""):
        terminal.sendline(line)
        terminal.expect(r"   \.\.\.: ")
    terminal.sendline("")
