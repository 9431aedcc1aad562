"""Cells: what IPython adds to Python works on the ranks."""

from __future__ import annotations

import pytest

from tests.kernels import Cell, Kernel, ranks


def _shown(cell: Cell) -> list[str]:
    return [
        output["data"]["text/plain"]
        for output in cell.outputs
        if output["output_type"] in {"execute_result", "display_data"}
    ]


def test_cell_01_the_last_value_of_rank_0_is_shown_once(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\na = 1\na + int(os.environ['RANK'])"
    )
    assert cell.result == "1"
    assert cell.text.count("1\n") + _shown(cell).count("1") <= 1


def test_cell_01_a_semicolon_hides_the_last_value(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2\na = 7\na * 11;")
    assert cell.result == ""
    assert "77" not in cell.text


def test_cell_01_a_last_assignment_is_executed_and_comes_back(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2 --out b\na = 1\nb = a + 1")
    assert cell.result == ""
    assert shared_kernel.value("b") == 2


def test_cell_02_await_works_at_the_top_level(shared_kernel: Kernel) -> None:
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out x\n"
        "import asyncio\n"
        "await asyncio.sleep(0); x = 5"
    )
    assert shared_kernel.value("x") == 5


def test_cell_02_asyncio_run_works_too(shared_kernel: Kernel) -> None:
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out y\n"
        "import asyncio\n"
        "async def six(): return 6\n"
        "y = asyncio.run(six())"
    )
    assert shared_kernel.value("y") == 6


def test_cell_03_shell_lines_work(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out out\n"
        "!echo from rank $RANK\n"
        "out = !echo hi\n"
        "print(out)"
    )
    assert ranks(cell.stdout) == {
        0: ["from rank 0", "['hi']"],
        1: ["from rank 1", "['hi']"],
    }
    assert shared_kernel.value("list(out)") == ["hi"]


def test_cell_04_line_magics_and_help_work(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2\n%time sum(range(10))\nlen?")
    for rank in 0, 1:
        text = "\n".join(ranks(cell.stdout)[rank])
        assert "Wall time" in text
        assert "Signature: len(obj, /)" in text


def test_cell_04_a_modulo_on_a_continued_line_is_no_magic(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out y,z\n"
        "time = 4\n"
        "y = (7\n"
        "%time)\n"
        "z = 7 \\\n"
        "  %time"
    )
    assert shared_kernel.value("(y, z)") == (3, 3)


def test_cell_05_time_above_runs_the_cell_once(shared_kernel: Kernel) -> None:
    cell = shared_kernel.ok(
        "%%time\n"
        "%%torchrun --nproc_per_node 2 --out x\n"
        "x = 1\n"
        "with open('runs' + os.environ['RANK'], 'a') as file: n = file.write('.')"
    )
    assert "Wall time" in cell.stdout
    assert shared_kernel.value("x") == 1
    assert shared_kernel.value("open('runs0').read(), open('runs1').read()") == (
        ".",
        ".",
    )


def test_cell_05_capture_above_catches_the_text_of_all_ranks(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        "%%capture caught\n"
        "%%torchrun --nproc_per_node 2 --out x\n"
        "import sys; x = 1\n"
        "print('plain'); print('loud', file=sys.stderr)"
    )
    assert cell.text == ""
    stdout, stderr = shared_kernel.value("(caught.stdout, caught.stderr)")
    assert ranks(stdout) == {0: ["plain"], 1: ["plain"]}
    assert ranks(stderr) == {0: ["loud"], 1: ["loud"]}
    assert shared_kernel.value("x") == 1


def test_cell_17_display_shows_text_under_the_label_of_the_rank(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\ndisplay({'rank': int(os.environ['RANK'])})"
    )
    assert ranks(cell.stdout) == {0: ["{'rank': 0}"], 1: ["{'rank': 1}"]}


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("from IPython.display import *; display(Markdown('**x**'))", "Markdown"),
        ("from IPython.display import *; display(HTML('<b>x</b>'))", "HTML"),
        ("print(type(get_ipython()).__name__)", "Shell"),
    ],
)
def test_cell_17_rich_objects_and_the_shell_are_no_name_errors(
    shared_kernel: Kernel, source: str, line: str
) -> None:
    cell = shared_kernel.ok(f"%%torchrun --nproc_per_node 2\n{source}")
    lines = ranks(cell.stdout)
    assert sorted(lines) == [0, 1]
    assert all(line in text for text in (*lines[0], *lines[1]))
