"""Where inside a value an object is: ``bag.inner['guard']``."""

from __future__ import annotations

import collections
import functools
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

from cloudpickle import cloudpickle

__all__ = ["path_to"]

_MOST_SECONDS = 1.0
_LONGEST_KEY = 40  # characters
_PLAIN = (str, bytes, bytearray, int, float, complex, type(None), types.CodeType)
_SEQUENCES: tuple[Any, ...] = (list, tuple, collections.deque, set, frozenset)
_PARTS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__self__", "__func__"),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget", "fset", "fdel"),
}

_Steps = Iterator[tuple[str, object]]
_Source = Callable[[Any], _Steps]


def path_to(wanted: object, root: object, name: str) -> str | None:
    """The shortest path from *root*, called *name*, to *wanted*.

    Nothing of the values' own code runs.

    Returns:
        None if there is none, or if the search takes too long.
    """
    end = time.monotonic() + _MOST_SECONDS
    sources: dict[type, list[_Source]] = {}
    seen = {id(root)}
    waiting = collections.deque([(name, root)])
    while waiting and time.monotonic() < end:
        path, value = waiting.popleft()
        if value is wanted:
            return path
        kind = type(value)
        if kind not in sources:
            sources[kind] = _sources(kind)
        for label, child in _steps(sources[kind], value):
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append((path + label, child))
    return None


def _steps(sources: list[_Source], value: object) -> _Steps:
    for source in sources:
        yield from source(value)


def _sources(kind: type) -> list[_Source]:
    """Where objects of this type hold other objects."""
    if issubclass(kind, (types.ModuleType, *_PLAIN)):
        return []
    if kind is types.FunctionType:
        return [_function_parts]
    if issubclass(kind, type):
        return [_class_parts]
    found: list[_Source] = []
    if issubclass(kind, dict):
        found.append(_dict_items)
    found += [functools.partial(_items, b) for b in _SEQUENCES if issubclass(kind, b)]
    names = (*_PARTS.get(kind, ()), *_slots(kind))
    if names:
        found.append(functools.partial(_slot_items, names))
    if kind.__dictoffset__:
        found.append(_attributes)
    if not cloudpickle._should_pickle_by_reference(kind):  # noqa: SLF001 - its rule is ours
        found.append(_own_class)
    return found


def _dict_items(value: dict[object, object]) -> _Steps:
    for number, (key, item) in enumerate(list(dict.items(value))):
        yield f"[{_show(key)}]", item
        yield f".<key {number}>", key


def _show(key: object) -> str:
    if isinstance(key, (str, int, float, bytes)) and len(repr(key)) <= _LONGEST_KEY:
        return repr(key)
    return f"<{type(key).__name__}>"


def _items(base: Any, value: object) -> _Steps:  # noqa: ANN401 - one of _SEQUENCES
    for number, item in enumerate(list(base.__iter__(value))):
        yield f"[{number}]", item


def _slots(kind: type) -> list[str]:
    return [
        name
        for base in kind.__mro__
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType) and "__slots__" in vars(base)
    ]


def _slot_items(names: tuple[str, ...], value: object) -> _Steps:
    for name in names:
        try:
            yield f".{name}", object.__getattribute__(value, name)
        except AttributeError:
            continue


def _attributes(value: object) -> _Steps:
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return
    if isinstance(attributes, dict):
        for name, item in list(attributes.items()):
            yield f".{name}", item


def _own_class(value: object) -> _Steps:
    yield ".__class__", type(value)


def _function_parts(function: types.FunctionType) -> _Steps:
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
    yield from _attributes(function)


def _class_parts(cls: type) -> _Steps:
    if cloudpickle._should_pickle_by_reference(cls):  # noqa: SLF001 - its rule is ours
        return
    for name, item in list(vars(cls).items()):
        plain = isinstance(item, (staticmethod, classmethod))
        yield f".{name}", item.__func__ if plain else item
    for base in cls.__bases__:
        yield f".<base {base.__name__}>", base
