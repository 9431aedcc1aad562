"""Compiling text of a notebook, failures as ``SyntaxError`` only."""

from __future__ import annotations
import __future__

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType

__all__ = ["compile_nodes", "compile_python", "parse_python"]

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag


def parse_python(source: str, filename: str, flags: int) -> tuple[ast.Module, int]:
    """Compile *source* and return its tree and the ``__future__`` flags in force.

    Raises:
        SyntaxError: it does not compile.
    """
    code = compile_python(source, filename, flags)
    # Not from the tree: names may be optimised away, the tree stays whole.
    tree = ast.parse(source, filename)
    return tree, (flags | code.co_flags) & _FUTURE


def compile_python(source: str, filename: str, flags: int) -> CodeType:
    """Compile *source* as a notebook does, ``await`` at the top level allowed.

    Raises:
        SyntaxError: it does not compile, whatever ``compile`` says about it.
    """
    flags = flags & _FUTURE | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        code: CodeType = compile(source, filename, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        _complete(error, source, filename)
        raise
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        message = f"a character that UTF-8 cannot encode: {error.object[error.start]!r}"
        raise _refusal(message, source, filename, line) from error
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        message = str(error) or "too deeply nested to compile"
        line = source.partition("\0")[0].count("\n") + 1 if "\0" in source else 1
        raise _refusal(message, source, filename, line) from error
    return code


def _refusal(message: str, source: str, filename: str, line: int) -> SyntaxError:
    return SyntaxError(message, (filename, line, 0, _line(source, line)))


def _complete(error: SyntaxError, source: str, filename: str) -> None:
    """Put in what ``compile`` looks up in a file of that name."""
    if error.lineno is None:
        error.lineno = source.partition("\0")[0].count("\n") + 1
    error.filename = error.filename or filename
    error.text = error.text or _line(source, error.lineno)


def _line(source: str, number: int) -> str:
    lines = source.split("\n")
    text = lines[number - 1] if number <= len(lines) else ""
    return text.encode("utf-8", "replace").decode()


def compile_nodes(nodes: list[ast.stmt], flags: int) -> CodeType:
    """Compile statements of a tree that has compiled as a whole."""
    module = ast.fix_missing_locations(ast.Module(nodes, []))
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code: CodeType = compile(module, "<cell>", "exec", flags, dont_inherit=True)
    return code
