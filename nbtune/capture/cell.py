"""A cell as the ranks run it: Python text with the notebook's line numbers."""

from __future__ import annotations

import ast
import difflib
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .compiling import compile_python, parse_python
from .flow import find_names
from .magic_code import python_body

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CellText", "read_cell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellText:
    """A cell that compiles.

    Attributes:
        source: Python text, the lines of the magic in front as comments.
        names: names that the cell reads and has not surely assigned before.
        unsure: those of *names* that the cell may well assign before it reads
            them, or that are only mentioned in text.
    """

    source: str
    names: tuple[str, ...]
    unsure: frozenset[str] = frozenset()


def read_cell(
    body: str,
    *,
    header: str,
    transform: Callable[[str], str],
    flags: int = 0,
    filename: str,
) -> CellText:
    """Turn the text below a magic into Python and find the names it uses.

    Args:
        body: the cell without the lines of the magic.
        header: the lines of the magic; the first is line 1 of the cell.
        transform: IPython's ``transform_cell``.
        flags: ``from __future__`` flags that earlier cells switched on.
        filename: what a ``SyntaxError`` names.

    Returns:
        The cell's text and names.

    Raises:
        SyntaxError: the cell does not compile; its line is the notebook's.
    """
    head = [f"# {line}".rstrip() for line in header.splitlines()]
    with warnings.catch_warnings():
        # The ranks compile the cell again and say it there.
        warnings.simplefilter("ignore")
        python = _transformed(body, transform, len(head))
        source = "".join(f"{line}\n" for line in head) + python
        tree, flags = parse_python(source, filename, flags)
        inner = python_body(tree)
        if inner:
            # The body of %%time: that magic's own line is above it.
            above = len(head) + _blank_lines(body) + 1
            text = "\n" * above + _transformed(inner, transform, above)
            compile_python(text, filename, flags)
        found = find_names(tree, flags=flags, transform=transform)
    return CellText(source=source, names=found.names, unsure=found.unsure)


def _transformed(body: str, transform: Callable[[str], str], above: int) -> str:
    """IPython's Python text, on the lines of the original."""
    blank = "\n" * _blank_lines(body)
    try:
        # Before the header is in front: `%%time` counts on the first line only.
        python = blank + transform(body)
    except SyntaxError as error:
        error.lineno = (error.lineno or 1) + above
        raise
    before, after = body.splitlines(), python.splitlines()
    return python if len(before) == len(after) else _stretched(before, python)


def _blank_lines(body: str) -> int:
    """Blank lines at the start, which IPython drops."""
    lines = body.splitlines()
    return next((n for n, line in enumerate(lines) if line.strip()), 0)


def _stretched(before: list[str], python: str) -> str:
    """Put blank lines where IPython joined several lines of a magic into one."""
    after = python.splitlines()
    lines: list[str] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        lines += after[start:end]
        lines += [""] * ((last - first) - (end - start))
    longer = "\n".join(lines) + "\n"
    return longer if _same_code(longer, python) else python


def _same_code(one: str, other: str) -> bool:
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
