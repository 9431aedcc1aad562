"""Functions, their code and their closures."""

from __future__ import annotations

import builtins
import marshal
import types
from typing import Any

from cloudpickle import cloudpickle

from . import standard, torch_programs
from .loading import receiving_namespace
from .names import annotation_names, code_names
from .packing import Packing

__all__ = ["reduce_cell", "reduce_code", "reduce_function"]


class _Namespace:
    """Stands for the notebook's namespace: arrives as the other side's own."""

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return receiving_namespace, ()


_NAMESPACE = _Namespace()


def reduce_function(function: types.FunctionType, packing: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    """Reduce a Python function: by name from a module, or by value."""
    if cloudpickle._should_pickle_by_reference(function):  # noqa: SLF001 - its rule is ours
        packing.finds.modules.add(function.__module__)
        return NotImplemented
    packing.note_bound(function)
    if standard.is_dispatcher(function):
        return standard.reduce_dispatcher(function)
    if torch_programs.is_compiled(function):
        return torch_programs.reduce_compiled(function)
    return _by_value(function, packing)


def _by_value(function: types.FunctionType, packing: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    state, slots = cloudpickle._function_getstate(function)  # noqa: SLF001 - finds submodules
    del slots["__closure__"]
    names: object = _NAMESPACE
    if function.__globals__ is packing.namespace:
        slots["__globals__"] = {}
        packing.finds.names.update(code_names(function.__code__))
        packing.finds.names.update(annotation_names(function.__annotations__))
    else:
        names = packing.globals_of(function.__globals__)
    # The cells themselves travel, not their contents: closures that share a
    # ``nonlocal`` variable go on sharing it. See also ``reduce_cell``.
    made = (function.__code__, names, function.__closure__)
    return _make_function, made, (state, slots), None, None, _fill_function


def _make_function(
    code: types.CodeType,
    names: dict[str, object],
    closure: tuple[types.CellType, ...] | None,
) -> types.FunctionType:
    if names is not receiving_namespace():
        names.setdefault("__builtins__", builtins)
    return types.FunctionType(code, names, None, None, closure)


def _fill_function(
    function: types.FunctionType, state: tuple[dict[str, object], dict[str, Any]]
) -> None:
    attributes, slots = state
    function.__dict__.update(attributes)
    # Their unpickling has imported them; the function needs no more of it.
    del slots["_cloudpickle_submodules"]
    function.__globals__.update(slots.pop("__globals__"))
    for name, value in slots.items():
        setattr(function, name, value)


def reduce_cell(cell: types.CellType, _: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    """Reduce a closure's variable: made empty, so that it may hold its function."""
    try:
        contents = cell.cell_contents
    except ValueError:
        return types.CellType, ()
    return types.CellType, (), (contents,), None, None, _fill_cell


def _fill_cell(cell: types.CellType, state: tuple[object]) -> None:
    cell.cell_contents = state[0]


def reduce_code(code: types.CodeType, packing: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    """Reduce code whole: cloudpickle loses the name of its file."""
    packing.finds.files[code.co_filename] = None
    return marshal.loads, (marshal.dumps(code),)
