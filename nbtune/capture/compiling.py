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
    except SyntaxError:
        raise
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        message = f"a character that UTF-8 cannot encode: {error.object[error.start]!r}"
        text = source.splitlines()[line - 1].encode("utf-8", "replace").decode()
        raise SyntaxError(message, (filename, line, 0, text)) from error
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        message = str(error) or "too deeply nested to compile"
        raise SyntaxError(message, (filename, 1, 0, "")) from error
    return code


def compile_nodes(nodes: list[ast.stmt], flags: int) -> CodeType:
    """Compile statements of a tree that has compiled as a whole."""
    module = ast.fix_missing_locations(ast.Module(nodes, []))
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code: CodeType = compile(module, "<cell>", "exec", flags, dont_inherit=True)
    return code
