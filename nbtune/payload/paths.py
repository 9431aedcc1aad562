"""Where inside a value an object is: ``bag.inner['guard']``."""

from __future__ import annotations

import collections
import functools
import time
import types
from collections.abc import Iterator
from typing import Any

from cloudpickle import cloudpickle

__all__ = ["path_to"]

_MOST_OBJECTS = 300_000
_MOST_SECONDS = 1.0
_PLAIN = (str, bytes, bytearray, int, float, complex, type(None), types.CodeType)
_LONGEST_KEY = 40  # characters
_SEQUENCES: tuple[Any, ...] = (list, tuple, collections.deque, set, frozenset)


def path_to(wanted: object, root: object, name: str) -> str | None:
    """The shortest path from *root*, called *name*, to *wanted*.

    Returns:
        None if there is none, or if the search takes too long.
    """
    end = time.monotonic() + _MOST_SECONDS
    seen = {id(root)}
    waiting = collections.deque([(name, root)])
    while waiting:
        path, value = waiting.popleft()
        if value is wanted:
            return path
        if len(seen) > _MOST_OBJECTS or time.monotonic() > end:
            return None
        for label, child in _children(value):
            if id(child) not in seen and not issubclass(type(child), _PLAIN):
                seen.add(id(child))
                waiting.append((path + label, child))
    return None


def _children(value: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401 - any value at all
    yield from _items(value)
    kind = type(value)
    if kind is types.FunctionType:
        yield from _function_parts(value)
    elif issubclass(kind, type):
        yield from _class_parts(value)
    elif not issubclass(kind, types.ModuleType):
        yield from _named_parts(value)
        yield from _attributes(value)


def _items(value: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401 - any value at all
    # By the type, and by the base's own methods: nothing of the value's runs.
    kind = type(value)
    if issubclass(kind, dict):
        for number, (key, item) in enumerate(list(dict.items(value))):
            yield f"[{_show(key)}]", item
            yield f".<key {number}>", key
        return
    for base in _SEQUENCES:
        if issubclass(kind, base):
            for number, item in enumerate(list(base.__iter__(value))):
                yield f"[{number}]", item


def _show(key: object) -> str:
    if isinstance(key, (str, int, float, bytes)) and len(repr(key)) <= _LONGEST_KEY:
        return repr(key)
    return f"<{type(key).__name__}>"


def _function_parts(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    if cloudpickle._should_pickle_by_reference(function):  # noqa: SLF001 - its rule is ours
        return
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        try:
            yield f".<closure {name}>", cell.cell_contents
        except ValueError:
            continue
    for number, default in enumerate(function.__defaults__ or ()):
        yield f".__defaults__[{number}]", default
    for name, default in (function.__kwdefaults__ or {}).items():
        yield f".__kwdefaults__[{name!r}]", default
    for name, item in vars(function).items():
        yield f".{name}", item


def _class_parts(cls: type) -> Iterator[tuple[str, object]]:
    if cloudpickle._should_pickle_by_reference(cls):  # noqa: SLF001 - its rule is ours
        return
    for name, item in list(vars(cls).items()):
        plain = isinstance(item, (staticmethod, classmethod))
        yield f".{name}", item.__func__ if plain else item
    for base in cls.__bases__:
        yield f".<base {base.__name__}>", base


_PARTS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (types.MethodType, ("__self__", "__func__")),
    (functools.partial, ("func", "args", "keywords")),
    (property, ("fget", "fset", "fdel")),
)


def _named_parts(value: object) -> Iterator[tuple[str, object]]:
    for kind, names in _PARTS:
        if issubclass(type(value), kind):
            for name in names:
                yield f".{name}", getattr(value, name)


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    for name in _slots(type(value)):
        try:
            yield f".{name}", object.__getattribute__(value, name)
        except AttributeError:
            continue
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        attributes = {}
    if isinstance(attributes, dict):
        for key, item in list(attributes.items()):
            yield f".{key}", item
    yield ".__class__", type(value)


def _slots(cls: type) -> Iterator[str]:
    for base in cls.__mro__:
        names = vars(base).get("__slots__", ())
        yield from [names] if isinstance(names, str) else names
