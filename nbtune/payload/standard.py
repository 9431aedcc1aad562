"""Values of the standard library that pickle refuses without need, or sends wrong."""

from __future__ import annotations

import contextvars
import functools
import io
import sys
import types
from collections.abc import Callable
from typing import Any

from cloudpickle import cloudpickle

from .packing import Packing

__all__ = ["is_dispatcher", "reduce_dispatcher", "reducer_for"]

_FILES = (
    io.FileIO,
    io.BufferedReader,
    io.BufferedWriter,
    io.BufferedRandom,
    io.TextIOWrapper,
)
_STREAMS = ("stdout", "stderr", "__stdout__", "__stderr__")
_DISPATCHER = functools.singledispatch(lambda _: None)
_DISPATCHER_NAMES = frozenset(vars(_DISPATCHER))


def reducer_for(kind: type) -> Callable[[Any, Packing], Any] | None:
    """The reducer for objects of this exact type, if there is one here."""
    if issubclass(kind, io.IOBase):
        return _reduce_stream
    return _REDUCERS.get(kind)


def _reduce_stream(stream: io.IOBase, _: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    for name in _STREAMS:
        if stream is getattr(sys, name, None):
            return getattr, (sys, name)
    # cloudpickle would send what a readable file holds, as a file in memory.
    if isinstance(stream, _FILES):
        raise TypeError("an open file belongs to its process")
    return NotImplemented


def _reduce_cached_property(value: functools.cached_property[Any], _: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    # Python 3.11 keeps a lock in it.
    return _make_cached_property, (value.func, value.attrname)


def _make_cached_property(
    function: Callable[[Any], Any], name: str | None
) -> functools.cached_property[Any]:
    made = functools.cached_property(function)
    made.attrname = name
    return made


def _reduce_cache(value: functools._lru_cache_wrapper[Any], packing: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    if cloudpickle._lookup_module_and_qualname(value) is not None:  # noqa: SLF001 - its rule is ours
        return NotImplemented
    packing.note_bound(value)
    settings = value.cache_parameters()
    return _make_cache, (value.__wrapped__, settings["maxsize"], settings["typed"])


def _make_cache(
    function: Callable[..., Any],
    maxsize: int | None,
    typed: bool,  # noqa: FBT001 - a pickle's call
) -> object:
    return functools.lru_cache(maxsize, typed)(function)


def is_dispatcher(function: types.FunctionType) -> bool:
    """Whether ``functools.singledispatch`` made it."""
    return function.__code__ is _DISPATCHER.__code__  # type: ignore[attr-defined] # a function


def reduce_dispatcher(function: Any) -> Any:  # noqa: ANN401 - a pickle reduction
    """Reduce a ``singledispatch`` function to its implementations."""
    registry = dict(function.registry)
    default = registry.pop(object)
    others = {
        name: value
        for name, value in vars(function).items()
        if name not in _DISPATCHER_NAMES
    }
    state = (list(registry.items()), others)
    return functools.singledispatch, (default,), state, None, None, _fill_dispatcher


def _fill_dispatcher(
    function: Any,  # noqa: ANN401 - what singledispatch returns
    state: tuple[list[tuple[type, Callable[..., Any]]], dict[str, object]],
) -> None:
    implementations, others = state
    for cls, implementation in implementations:
        function.register(cls, implementation)
    vars(function).update(others)


def _reduce_context_variable(value: contextvars.ContextVar[Any], _: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    try:
        return _make_context_variable, (value.name, value.get())
    except LookupError:
        return _make_context_variable, (value.name,)


def _make_context_variable(name: str, *value: object) -> contextvars.ContextVar[Any]:
    if value:
        return contextvars.ContextVar(name, default=value[0])
    return contextvars.ContextVar(name)


_REDUCERS: dict[type, Callable[[Any, Packing], Any]] = {
    functools.cached_property: _reduce_cached_property,
    functools._lru_cache_wrapper: _reduce_cache,  # noqa: SLF001 - the type of a cached function
    contextvars.ContextVar: _reduce_context_variable,
}
