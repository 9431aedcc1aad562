"""The quickstart, run as a reader runs it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbclient
import nbformat
import pytest

import nbtune
from tests.cells import ranks

if TYPE_CHECKING:
    from nbformat import NotebookNode

_ROOT = Path(nbtune.__file__).parents[1]
_ANSI = re.compile(r"\x1b\[[0-9;]*m")

# The first test waits for the whole notebook.
pytestmark = [pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """The notebook with the outputs of one run."""
    folder = tmp_path_factory.mktemp("quickstart")
    read = nbformat.read(_ROOT / "notebooks" / "quickstart.ipynb", 4)
    client = nbclient.NotebookClient(read, timeout=100, kernel_name="python3")
    environ = {
        **os.environ,
        "NBTUNE_HOME": str(folder / "home"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": str(_ROOT),
    }
    return client.execute(cwd=str(folder), env=environ)


def _outputs(book: NotebookNode, word: str) -> list[dict[str, Any]]:
    (cell,) = [
        cell for cell in book.cells if cell.cell_type == "code" and word in cell.source
    ]
    outputs: list[dict[str, Any]] = cell.outputs
    return outputs


def _text(outputs: list[dict[str, Any]]) -> str:
    return "".join(o["text"] for o in outputs if o["output_type"] == "stream")


def test_quickstart_trains_on_two_ranks(book: NotebookNode) -> None:
    lines = ranks(_text(_outputs(book, "--out model,history")))
    assert re.fullmatch(r"rank 0 of 2: loss \d\.\d+", lines[0][-1])
    assert re.fullmatch(r"rank 1 of 2: loss \d\.\d+", lines[1][-1])


def test_quickstart_brings_weights_back_that_know_the_digits(
    book: NotebookNode,
) -> None:
    (before,) = re.findall(r"untrained: ([\d.]+)%", _text(_outputs(book, "untrained")))
    found = re.search(
        r"trained: ([\d.]+)% after 20 epochs", _text(_outputs(book, "trained >"))
    )
    assert found is not None
    assert float(before) < 50
    assert float(found[1]) > 95


def test_quickstart_runs_two_jobs_at_once_on_two_ports(book: NotebookNode) -> None:
    found = re.search(r"ports: (\d+) (\d+)", _text(_outputs(book, "nbtune.launch")))
    assert found is not None
    assert found[1] != found[2]


def test_quickstart_shows_the_failing_rank_s_own_traceback(book: NotebookNode) -> None:
    (error,) = [
        output
        for output in _outputs(book, 'epochs="twenty"')
        if output["output_type"] == "error"
    ]
    shown = _ANSI.sub("", "\n".join(error["traceback"]))
    assert error["ename"] == "WorkerError"
    assert error["evalue"].startswith("rank 1 ")
    # The magic is line 1 of the cell.
    assert re.search(r'-> 4 +train\(model, train_set, epochs="twenty"\)\n', shown)
    assert "TypeError: 'str' object cannot be interpreted as an integer" in shown
    assert "for epoch in range(epochs)" in shown
