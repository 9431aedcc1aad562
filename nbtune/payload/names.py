"""Which global names a piece of code or an annotation uses."""

from __future__ import annotations

import ast
import dis
import types
import typing
from collections.abc import Iterator

__all__ = ["annotation_names", "code_names"]

# Names that are only stored need no value.
_READS = frozenset(
    {
        "DELETE_GLOBAL",
        "DELETE_NAME",
        "LOAD_FROM_DICT_OR_GLOBALS",
        "LOAD_GLOBAL",
        "LOAD_NAME",
    }
)


def code_names(code: types.CodeType) -> dict[str, None]:
    """Global names that *code* and the code inside it read, in order."""
    names: dict[str, None] = {}
    waiting = [code]
    while waiting:
        code = waiting.pop()
        for step in dis.get_instructions(code):
            if step.opname in _READS:
                names[step.argval] = None
        waiting += [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return names


def annotation_names(annotations: object) -> dict[str, None]:
    """Names in the annotations that are strings, or hold some.

    Args:
        annotations: an ``__annotations__`` mapping; anything else has no names.
    """
    if not isinstance(annotations, dict):
        return {}
    texts = [text for value in annotations.values() for text in _texts(value)]
    return {name: None for text in texts for name in _text_names(text)}


def _texts(annotation: object) -> Iterator[str]:
    if isinstance(annotation, str):
        yield annotation
    elif isinstance(annotation, typing.ForwardRef):
        yield annotation.__forward_arg__
    elif isinstance(annotation, (list, tuple)):
        for part in annotation:
            yield from _texts(part)
    elif typing.get_origin(annotation) is typing.Annotated:
        yield from _texts(typing.get_args(annotation)[0])
    elif typing.get_origin(annotation) is not typing.Literal:
        yield from _texts(typing.get_args(annotation))


def _text_names(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return
    yield from _tree_names(tree)


def _tree_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Constant(value=str() as text):
            yield from _text_names(text)
        case ast.Subscript(value=generic, slice=inner):
            yield from _tree_names(generic)
            yield from _argument_names(ast.unparse(generic), inner)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _tree_names(child)


def _argument_names(generic: str, inner: ast.expr) -> Iterator[str]:
    plain = generic.rpartition(".")[2]
    if plain == "Annotated" and isinstance(inner, ast.Tuple):
        inner = inner.elts[0]
    if plain != "Literal":
        yield from _tree_names(inner)
