"""The pickler: one for a whole payload, asked about every object that is packed."""

from __future__ import annotations

import pickle
import types
from collections.abc import Callable
from typing import Any

import cloudpickle

from . import standard, torch_programs, torch_values
from .classes import reduce_class
from .functions import reduce_cell, reduce_code, reduce_function
from .packing import Packing

__all__ = ["ValuePickler"]

_Reducer = Callable[[Any, Packing], Any]


def _reduce_module(module: types.ModuleType, packing: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    packing.finds.modules.add(module.__name__)
    return NotImplemented


_REDUCERS: dict[type, _Reducer] = {
    types.CellType: reduce_cell,
    types.CodeType: reduce_code,
    types.FunctionType: reduce_function,
    types.ModuleType: _reduce_module,
}


class ValuePickler(cloudpickle.Pickler):  # type: ignore[misc] # cloudpickle has no types
    """cloudpickle's pickler with our rules in front of its own.

    Attributes:
        newest: the object that was asked about last; after a failure, the one
            that cannot travel.
    """

    def __init__(self, file: object, packing: Packing) -> None:
        super().__init__(file, protocol=5, buffer_callback=packing.take_buffer)
        self.memo: Any  # pickle.Pickler's own
        self.newest: object = None
        self._packing = packing
        self._reducers: dict[type, _Reducer | None] = {}

    def reducer_override(self, obj: Any) -> Any:  # noqa: ANN401 - pickle's own signature
        """See ``pickle.Pickler``; called for all but the plainest objects."""
        self.newest = obj
        kind = type(obj)
        try:
            reducer = self._reducers[kind]
        except KeyError:
            reducer = self._reducers[kind] = _find(kind)
        return NotImplemented if reducer is None else reducer(obj, self._packing)

    def dump(self, obj: object) -> None:
        """See ``pickle.Pickler``; a RecursionError stays one, unlike cloudpickle's."""
        self.newest = None
        pickle.Pickler.dump(self, obj)

    def forget_since(self, first: object) -> None:
        """Forget *first*, which was memoized, and all that was after it."""
        # An object's place in the memo is the number of those before it.
        memo: dict[int, tuple[int, object]] = self.memo.copy()
        start = memo[id(first)][0]
        self.memo = {key: entry for key, entry in memo.items() if entry[0] < start}


def _find(kind: type) -> _Reducer | None:
    if issubclass(kind, type):
        return reduce_class
    return (
        _REDUCERS.get(kind)
        or standard.reducer_for(kind)
        or torch_programs.reducer_for(kind)
        or torch_values.reducer_for(kind)
    )
