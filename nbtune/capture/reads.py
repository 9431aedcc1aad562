"""What compiled code reads and stores by name, in the order it does so."""

from __future__ import annotations

import dis
import inspect
from dataclasses import dataclass, field
from types import CodeType

__all__ = ["Reads", "reads_of", "stored_by"]

_LOADS = frozenset(
    {
        "DELETE_GLOBAL",
        "DELETE_NAME",
        "LOAD_FROM_DICT_OR_GLOBALS",
        "LOAD_GLOBAL",
        "LOAD_NAME",
    }
)
_STORES = frozenset({"STORE_GLOBAL", "STORE_NAME"})
# Before Python 3.12 comprehensions are code of their own, run on the spot.
_AT_ONCE = frozenset({"<dictcomp>", "<genexpr>", "<listcomp>", "<setcomp>"})


@dataclass(slots=True)
class Reads:
    """The names of one statement.

    Attributes:
        first: read when it runs, before it stores the same name.
        later: read after it may have stored the name itself.
        called: read by functions that it makes, whenever those are called.
        stored: stored when it runs, on one of its ways at least.
    """

    first: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)


def reads_of(code: CodeType) -> Reads:
    """The names of module level *code* and of all code inside it."""
    reads = Reads()
    for name, stores in _accesses(code):
        if stores:
            reads.stored.add(name)
        else:
            (reads.later if name in reads.stored else reads.first).append(name)
    for inner in _inner(code):
        _add_inner(inner, reads, at_once=True)
    return reads


def stored_by(code: CodeType) -> frozenset[str]:
    """All names that module level *code* may store."""
    return frozenset(name for name, stores in _accesses(code) if stores)


def _add_inner(code: CodeType, reads: Reads, *, at_once: bool) -> None:
    is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
    at_once = at_once and (not is_function or code.co_name in _AT_ONCE)
    target = reads.first if at_once else reads.called
    local: set[str] = set()
    for name, stores in _accesses(code):
        if stores:
            # In a class body these are the class's own names.
            local.add(name)
        elif is_function or name not in local:
            target.append(name)
    for inner in _inner(code):
        _add_inner(inner, reads, at_once=at_once)


def _accesses(code: CodeType) -> list[tuple[str, bool]]:
    """(name, whether it is stored) in the order of the instructions."""
    return [
        (instruction.argval, instruction.opname in _STORES)
        for instruction in dis.get_instructions(code)
        if instruction.opname in _LOADS or instruction.opname in _STORES
    ]


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]
