"""Classes: by name from modules, by key if the other side owns them, or by value."""

from __future__ import annotations

import enum
import typing
from typing import Any

from cloudpickle import cloudpickle

from .loading import known_class, make_class
from .names import annotation_names
from .packing import Packing

__all__ = ["reduce_class"]

_SINGLETONS = (type(None), type(Ellipsis), type(NotImplemented))


def reduce_class(cls: type, packing: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    """Reduce any class."""
    key = packing.known_key(cls)
    if key is not None:
        return known_class, (key,)
    if cls in _SINGLETONS or cls in cloudpickle._BUILTIN_TYPE_NAMES:  # noqa: SLF001 - one table
        return cloudpickle._class_reduce(cls)  # noqa: SLF001 - by name in ``types``
    if cloudpickle._should_pickle_by_reference(cls):  # noqa: SLF001 - its rule is ours
        packing.finds.modules.add(cls.__module__)
        return NotImplemented
    return _by_value(cls, packing)


def _by_value(cls: type, packing: Packing) -> Any:  # noqa: ANN401 - a pickle reduction
    packing.note_bound(cls)
    packing.finds.names.update(annotation_names(vars(cls).get("__annotations__")))
    skeleton, arguments, state = (
        _enum_parts(cls) if issubclass(cls, enum.Enum) else _class_parts(cls)
    )
    made = (packing.new_class(cls), skeleton, arguments)
    setter = cloudpickle._class_setstate  # noqa: SLF001 - the counterpart of its state
    return make_class, made, state, None, None, setter


# cloudpickle gives each class a tracker id, and a class with a known id is not
# made but written over when it is loaded. A class of the notebook must never be
# changed by a result, so the ids stay out: what comes in is a new class.
_NO_TRACKER = (None, None)


def _class_parts(cls: type) -> tuple[object, tuple[object, ...], object]:
    names = ["__module__"]
    # Slots make their descriptors when the class is made: set afterwards, as
    # cloudpickle 3.1 does it, they make none. A named tuple makes its own.
    if typing.NamedTuple not in vars(cls).get("__orig_bases__", ()):
        names.append("__slots__")
    fixed = {name: vars(cls)[name] for name in names if name in vars(cls)}
    if isinstance(vars(cls).get("__dict__"), property):
        fixed["__dict__"] = vars(cls)["__dict__"]
    bases = cloudpickle._get_bases(cls)  # noqa: SLF001 - generic bases, see there
    arguments = (type(cls), cls.__name__, bases, fixed, *_NO_TRACKER)
    state = cloudpickle._class_getstate(cls)  # noqa: SLF001 - knows ABCs and slots
    state[0].pop("__slots__", None)
    return cloudpickle._make_skeleton_class, arguments, state  # noqa: SLF001 - its counterpart


def _enum_parts(cls: type[enum.Enum]) -> tuple[object, tuple[object, ...], object]:
    members = {member.name: member.value for member in cls}
    arguments = (
        cls.__bases__,
        cls.__name__,
        cls.__qualname__,
        members,
        cls.__module__,
        *_NO_TRACKER,
    )
    state = cloudpickle._enum_getstate(cls)  # noqa: SLF001 - leaves the members out
    return cloudpickle._make_skeleton_enum, arguments, state  # noqa: SLF001 - its counterpart
