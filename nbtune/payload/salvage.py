"""What later frames may need of a frame that cannot be loaded."""

from __future__ import annotations

import importlib
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .loading import known_class, receiving_namespace

__all__ = ["salvage"]


class _Mark:
    """Pickle's mark on the stack."""


class _Unknown:
    """A value that only the frame's own code could make."""


_MARK, _UNKNOWN = _Mark(), _Unknown()
# Calls that have no effect and need nothing of the frame.
_CALLS: tuple[Callable[..., object], ...] = (known_class, receiving_namespace)
_POPS_TO_MARK = frozenset({"stackslice", "markobject"})


def salvage(frame: bytes, start: int, memo: dict[int, object]) -> dict[int, object]:
    """Texts, modules' attributes and known classes that *frame* memoizes.

    Frames write such things once and refer to them later. Nothing of the
    notebook's runs here: the frame is read, not loaded.

    Args:
        frame: a pickle.
        start: the memo's size before it.
        memo: what is loaded already.
    """
    machine = _Machine(memo, start)
    for opcode, argument, _ in pickletools.genops(frame):
        machine.step(opcode, argument)
    return machine.saved


@dataclass(slots=True)
class _Tuple:
    items: tuple[object, ...]


class _Machine:
    """Follows a pickle's stack; what it cannot know is ``_UNKNOWN``."""

    def __init__(self, memo: dict[int, object], start: int) -> None:
        self._memo = memo
        self._place = start
        self._stack: list[object] = []
        self.saved: dict[int, object] = {}

    def step(self, opcode: pickletools.OpcodeInfo, argument: Any) -> None:  # noqa: ANN401 - pickletools' own
        """Take one opcode."""
        name = opcode.name
        if name == "MEMOIZE":
            self._memoize()
        elif name.endswith("BINGET"):
            known = self.saved.get(argument, self._memo.get(argument, _UNKNOWN))
            self._stack.append(known)
        elif "UNICODE" in name:
            self._stack.append(argument)
        elif name == "MARK":
            self._stack.append(_MARK)
        else:
            taken = self._take(opcode)
            made = _made(name, taken)
            self._stack += [made] * len(opcode.stack_after)

    def _memoize(self) -> None:
        value = self._stack[-1]
        if not isinstance(value, (_Unknown, _Tuple)):
            self.saved[self._place] = value
        self._place += 1

    def _take(self, opcode: pickletools.OpcodeInfo) -> list[object]:
        taken: list[object] = []
        for kind in reversed(opcode.stack_before):
            if kind.name == "stackslice":
                while self._stack[-1] is not _MARK:
                    taken.append(self._stack.pop())
            else:
                taken.append(self._stack.pop())
        return taken[::-1]


def _made(name: str, taken: list[object]) -> object:
    match name, taken:
        case "STACK_GLOBAL", [str() as module, str() as attribute]:
            return _find(module, attribute)
        case "EMPTY_TUPLE" | "TUPLE1", _:
            return _Tuple(tuple(taken))
        case "REDUCE", [function, _Tuple(items=items)] if function in _CALLS:
            return _call(function, items)
        case _:
            return _UNKNOWN


def _find(module: str, attribute: str) -> object:
    try:
        found: object = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return _UNKNOWN
    return found


def _call(function: Any, items: tuple[object, ...]) -> object:  # noqa: ANN401 - one of _CALLS
    try:
        return function(*items)
    except LookupError:
        return _UNKNOWN
