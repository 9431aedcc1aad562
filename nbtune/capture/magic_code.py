"""Python inside text: the arguments of magics and shell lines, ``eval`` and hints."""

from __future__ import annotations

import ast
import re
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["names_in_text", "python_body", "python_in_magic"]

# These run their text as Python, in the namespace of the cell.
_PYTHON_MAGICS = frozenset({"capture", "debug", "prun", "time", "timeit"})
_EVALUATORS = frozenset({"eval", "exec"})
_METHODS = frozenset({"getoutput", "run_cell_magic", "run_line_magic", "system"})
_DOLLAR = re.compile(r"\$\{?([^\W\d]\w*)")
_BRACES = re.compile(r"\{([^{}!:]+)")


def python_body(tree: ast.Module) -> str:
    """The body of a ``%%time`` or the like that is all of a cell, else ``""``."""
    match tree.body:
        case [ast.Expr(value=ast.Call() as call)]:
            words = _magic(call)
        case _:
            return ""
    if words[:1] == ["run_cell_magic"] and words[1] in _PYTHON_MAGICS:
        return words[3]
    return ""


def python_in_magic(node: ast.AST, transform: Callable[[str], str]) -> str:
    """The Python that a statement of ``%time`` or ``%%time`` runs, else ``""``."""
    for part in ast.walk(node):
        words = _magic(part) if isinstance(part, ast.Call) else []
        if len(words) > 2 and words[1] in _PYTHON_MAGICS:  # noqa: PLR2004 - method, name, line
            if words[0] == "run_cell_magic":
                return _transformed(words[3], transform)
            return _longest_python(words[2])
    return ""


def names_in_text(node: ast.AST) -> Iterator[str]:
    """Names that the texts in *node* mention where text becomes Python."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            yield from _names(_evaluated(part))
            yield from _in_magic(_magic(part))
        for hint in _hints(part):
            yield from _in_hint(hint)


def _hints(node: ast.AST) -> list[ast.expr]:
    """The type hints of this node itself."""
    match node:
        case ast.arg() | ast.AnnAssign():
            hints = [node.annotation]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            hints = [node.returns]
        case _:
            hints = []
    return [hint for hint in hints if hint is not None]


def _magic(call: ast.Call) -> list[str]:
    """Method and text arguments of a call that IPython made of a magic."""
    match call.func:
        case ast.Attribute(
            value=ast.Call(func=ast.Name(id="get_ipython")), attr=method
        ) if method in _METHODS:
            texts = [a.value for a in call.args if isinstance(a, ast.Constant)]
            return [method, *(text for text in texts if isinstance(text, str))]
    return []


def _evaluated(call: ast.Call) -> str:
    """The text that ``eval("...")`` runs."""
    match call:
        case ast.Call(
            func=ast.Name(id=name), args=[ast.Constant(value=str(text)), *_]
        ) if name in _EVALUATORS:
            return text
    return ""


def _in_magic(words: list[str]) -> Iterator[str]:
    match words:
        case ["system" | "getoutput", line]:
            yield from _expanded(line)
        case ["run_line_magic" | "run_cell_magic", _, line, *body]:
            yield from _expanded(line)
            yield from _names(_longest_python(line))
            for text in body:
                yield from _names(text)
        case _:
            pass  # a call of something else


def _expanded(text: str) -> Iterator[str]:
    """Names in the ``$name`` and ``{expr}`` of a magic or shell line."""
    yield from _DOLLAR.findall(text)
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(text) if field]
    except ValueError:
        fields = _BRACES.findall(text)
    for field in fields:
        yield from _names(field)


def _in_hint(hint: ast.expr) -> Iterator[str]:
    """Names in a type hint; it may be text, and hold text: ``"list['Node']"``."""
    for node in ast.walk(hint):
        match node:
            case ast.Name(id=name):
                yield name
            case ast.Constant(value=str(text)):
                inner = _parsed(text)
                for statement in inner.body if inner else ():
                    if isinstance(statement, ast.Expr):
                        yield from _in_hint(statement.value)
            case _:
                pass  # ast.walk comes to what is inside


def _names(source: str) -> Iterator[str]:
    tree = _parsed(source)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Name):
            yield node.id


def _longest_python(line: str) -> str:
    """*line* without the options in front of its Python."""
    while line and _parsed(line) is None:
        line = line.partition(" ")[2].lstrip()
    return line


def _transformed(body: str, transform: Callable[[str], str]) -> str:
    try:
        python = transform(body)
    except SyntaxError:
        return ""
    return python if _parsed(python) else ""


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source.strip())
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
