"""Which names a cell needs from outside: read before they are surely assigned.

A captured value is out of reach once its name was assigned or deleted in the
cell, so what is "sure" only grows along the statements. Where that cannot be
told the name counts as needed: sending a value too many is better than one too
few.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .compiling import compile_nodes
from .magic_code import names_in_text, python_in_magic
from .reads import reads_of, stored_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Needed", "find_names"]

_Sure = frozenset[str]
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_NOTHING: list[ast.stmt] = [ast.Pass()]
_SWALLOWERS = ("raises", "stack", "suppress")


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """The names that a cell takes from outside.

    Attributes:
        names: all of them, in the order of the first reading.
        unsure: those that may be the cell's own when they are read.
    """

    names: tuple[str, ...]
    unsure: frozenset[str]


def find_names(
    tree: ast.Module, *, flags: int, transform: Callable[[str], str]
) -> Needed:
    """Find the names that a cell needs from outside.

    Args:
        tree: the cell, after IPython's transformations.
        flags: ``from __future__`` flags in force.
        transform: IPython's ``transform_cell``, for Python inside magics.
    """
    flow = _Flow(flags, transform, stored_by(compile_nodes(tree.body, flags)))
    flow.block(tree.body, frozenset())
    certain = {name for name, is_certain in flow.needed.items() if is_certain}
    return Needed(
        names=tuple(flow.needed), unsure=frozenset(flow.needed.keys() - certain)
    )


@dataclass(slots=True)
class _Flow:
    flags: int
    transform: Callable[[str], str]
    own: frozenset[str]  # stored anywhere at the top level of the cell
    needed: dict[str, bool] = field(default_factory=dict)
    maybe: set[str] = field(default_factory=set)

    def block(self, statements: Iterable[ast.stmt], sure: _Sure) -> _Sure:
        for statement in statements:
            sure = self._statement(statement, sure)
        return sure

    def _statement(self, node: ast.stmt, sure: _Sure) -> _Sure:
        match node:
            case ast.If():
                sure = self._expression(node.test, sure)
                after = self.block(node.body, sure) & self.block(node.orelse, sure)
            case ast.For() | ast.AsyncFor() | ast.While():
                after = self._loop(node, sure)
            case ast.With() | ast.AsyncWith():
                after = self._with(node, sure)
            case ast.Try() | ast.TryStar():
                after = self._try(node, sure)
            case ast.Match():
                after = self._match(node, sure)
            case ast.Break() | ast.Continue() | ast.Pass():
                after = sure
            case _:
                after = self._simple(node, sure)
        return after

    def _simple(self, node: ast.stmt, sure: _Sure) -> _Sure:
        self._read(node, sure)
        sure |= frozenset(_assigned(node))
        if not isinstance(node, _Definition):
            python = python_in_magic(node, self.transform)
            self.block(ast.parse(python).body, sure)
        return sure

    def _expression(self, node: ast.expr, sure: _Sure) -> _Sure:
        return self._simple(ast.Expr(node), sure)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, sure: _Sure) -> _Sure:
        if isinstance(node, ast.While):
            sure = inside = self._expression(node.test, sure)
        else:
            kind = type(node)
            head = kind(target=node.target, iter=node.iter, body=_NOTHING, orelse=[])
            self._read(head, sure)
            sure |= frozenset(_assigned(node.iter))
            inside = sure | frozenset(_assigned(node.target))
        self.block(node.body, inside)
        self.block(node.orelse, sure)
        return sure

    def _with(self, node: ast.With | ast.AsyncWith, sure: _Sure) -> _Sure:
        for item in node.items:
            self._read(type(node)(items=[item], body=_NOTHING), sure)
            sure |= frozenset(_assigned(item))
        after = self.block(node.body, sure)
        return sure if any(map(_may_swallow, node.items)) else after

    def _try(self, node: ast.Try | ast.TryStar, sure: _Sure) -> _Sure:
        after = self.block(node.orelse, self.block(node.body, sure))
        for handler in node.handlers:
            caught = self._expression(handler.type, sure) if handler.type else sure
            own = frozenset([handler.name] if handler.name else [])
            self.maybe |= own
            after &= self.block(handler.body, caught | own)
        return after | self.block(node.finalbody, sure)

    def _match(self, node: ast.Match, sure: _Sure) -> _Sure:
        cases = [
            ast.match_case(case.pattern, case.guard, _NOTHING) for case in node.cases
        ]
        self._read(ast.Match(node.subject, cases), sure)
        sure |= frozenset(_assigned(node.subject))
        for case in node.cases:
            self.block(case.body, sure | frozenset(_assigned(case.pattern)))
        return sure

    def _read(self, node: ast.stmt, sure: _Sure) -> None:
        """Note what *node*, a simple statement or a head without body, reads."""
        reads = reads_of(compile_nodes([node], self.flags))
        for name in reads.first:
            self._need(name, sure, certain=name not in self.maybe)
        self.maybe |= reads.stored
        for name in reads.later:
            self._need(name, sure, certain=False)
        for name in reads.called:
            self._need(name, sure, certain=name not in self.own)
        for name in names_in_text(node):
            self._need(name, sure, certain=False)

    def _need(self, name: str, sure: _Sure, *, certain: bool) -> None:
        if name not in sure:
            self.needed[name] = self.needed.get(name, False) or certain


def _assigned(node: ast.AST) -> Iterator[str]:
    """Names that *node* assigns or deletes whenever it runs to its end."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.alias(name=name, asname=asname):
            yield asname or name.partition(".")[0]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case _:
            pass
    for child in _always_run(node):
        yield from _assigned(child)


def _always_run(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of *node* that run whenever it does, in its own scope."""
    match node:
        case ast.BoolOp():
            parts: Iterable[ast.AST] = node.values[:1]
        case ast.Compare():
            parts = [node.left, node.comparators[0]]
        case ast.IfExp():
            parts = [node.test]
        case _ if isinstance(node, _Comprehension):
            parts = [node.generators[0].iter]
        case ast.AnnAssign(value=None) | ast.Lambda():
            parts = []
        case _ if isinstance(node, _Definition):
            parts = []
        case _:
            parts = ast.iter_child_nodes(node)
    return parts


def _may_swallow(item: ast.withitem) -> bool:
    """Whether the body may end early without an error, as far as names tell."""
    text = ast.unparse(item.context_expr).lower()
    return any(word in text for word in _SWALLOWERS)
