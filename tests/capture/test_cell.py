from __future__ import annotations
import __future__

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from nbtune.capture import CellText, read_cell


def _read(body: str, header: str = "%%torchrun --nproc_per_node 2") -> CellText:
    transform = TransformerManager().transform_cell
    return read_cell(body, header=header, transform=transform, filename="Cell In[7]")


def _line_of(text: CellText, part: str) -> int:
    lines = text.source.splitlines()
    return next(n for n, line in enumerate(lines, 1) if part in line)


def test_the_magic_is_line_1_and_the_body_follows() -> None:
    text = _read("x = 1\ny = 2")
    assert text.source == "# %%torchrun --nproc_per_node 2\nx = 1\ny = 2\n"


def test_continued_options_count_as_lines() -> None:
    text = _read("x = 1\n", header="%%torchrun --nproc_per_node 2 \\\n  --out x")
    assert _line_of(text, "x = 1") == 3


def test_blank_lines_at_the_start_count() -> None:
    assert _line_of(_read("\n\nx = 1"), "x = 1") == 4


def test_a_magic_over_several_lines_moves_no_later_line() -> None:
    text = _read("a = 1\n!ls \\\n  -l \\\n  -a\nif a:\n    b = 2\n")
    assert _line_of(text, "b = 2") == 7


def test_a_cell_magic_at_the_start_of_the_body_is_transformed() -> None:
    text = _read("%%time\nx = f(1)")
    assert "run_cell_magic('time'" in text.source.splitlines()[1]
    assert "f" in text.names


def test_shell_lines_and_await_compile() -> None:
    assert "job" in _read("!echo hi\nout = !ls\nawait job").names


@pytest.mark.parametrize(
    ("body", "line", "text"),
    [
        ("x = (1,", 2, "x = (1,"),
        ("x = 1\n  y = 2", 3, "  y = 2"),
        ("\nreturn 1", 3, "return 1"),
        ("%%time\n\ny = )", 4, "y = )"),
        ("x = 1\ny = '\ud800'", 3, "y = '?'"),
        ("x = 1\ny = '\0'", 3, "y = '\0'"),
        ("x = 1\n" + "(" * 300, 3, "(" * 300),
    ],
)
def test_a_mistake_is_a_syntax_error_on_the_notebooks_line(
    body: str, line: int, text: str
) -> None:
    with pytest.raises(SyntaxError) as caught:
        _read(body)
    assert caught.value.lineno == line
    assert caught.value.filename == "Cell In[7]"
    assert (caught.value.text or "").rstrip("\n") == text


def test_future_imports_of_earlier_cells_are_in_force() -> None:
    transform = TransformerManager().transform_cell
    text = read_cell(
        "def f(x: Later) -> None: ...",
        header="%%torchrun",
        transform=transform,
        flags=__future__.annotations.compiler_flag,
        filename="cell",
    )
    assert text.names == ("Later",)
    assert text.unsure == {"Later"}


def test_a_warning_of_the_compiler_is_left_to_the_ranks() -> None:
    assert _read("x = '\\d'").names == ()
