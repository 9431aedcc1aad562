"""The receiving side: what a payload's pickles call while they are loaded."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from .buffers import Buffers

__all__ = [
    "LOADING",
    "Loading",
    "itself",
    "known_class",
    "make_class",
    "receiving_namespace",
    "storage",
    "tensor",
    "typed_storage",
]


@dataclass(slots=True, kw_only=True)
class Loading:
    """The state of one ``unpack`` call.

    Attributes:
        namespace: globals for functions of the notebook.
        known: classes that this side owns, by key.
        views: ``(segment, offset, size, stride, dtype, requires_grad)`` of each
            tensor, the offset in elements.
        segments: ``(offset, bytes)`` of each storage in the buffers.
        buffers: the payload's out-of-band memory.
        classes: classes made so far, by key.
        storages: storages made so far, by segment.
    """

    namespace: dict[str, object]
    known: Mapping[str, type]
    views: Sequence[Sequence[Any]]
    segments: Sequence[Sequence[int]]
    buffers: Buffers
    classes: dict[str, type] = field(default_factory=dict)
    storages: dict[int, Any] = field(default_factory=dict)


LOADING: ContextVar[Loading] = ContextVar("nbtune.payload.loading")


def receiving_namespace() -> dict[str, object]:
    """The globals of every function that had the notebook's."""
    return LOADING.get().namespace


def known_class(key: str) -> type:
    """A class that this side owned before.

    Raises:
        LookupError: it owns none under *key*.
    """
    try:
        return LOADING.get().known[key]
    except KeyError:
        name = key.rpartition("-")[0]
        raise LookupError(f"the class {name} of the notebook is gone") from None


def make_class(
    key: str, skeleton: Callable[..., type], arguments: tuple[object, ...]
) -> type:
    """Create a class that was packed by value, still empty."""
    cls = skeleton(*arguments)
    LOADING.get().classes[key] = cls
    return cls


def itself(value: object) -> object:
    """For a wrapper that is left behind: what was inside."""
    return value


def tensor(number: int) -> object:
    """A CPU tensor, on a storage that it shares as it did before."""
    loading = LOADING.get()
    segment, offset, size, stride, dtype, requires_grad = loading.views[number]
    torch = _torch()
    made = torch.empty(0, dtype=getattr(torch, dtype), device="cpu")
    with torch.no_grad():
        made.set_(_segment(loading, segment), offset, size, stride)
    if requires_grad:
        made.requires_grad_()
    return made


def storage(number: int) -> object:
    """An untyped storage."""
    loading = LOADING.get()
    return _segment(loading, loading.views[number][0])


def typed_storage(untyped: object, dtype: str) -> object:
    """A typed storage, which torch still pickles tensors of some kinds with."""
    torch = _torch()
    return torch.storage.TypedStorage(
        wrap_storage=untyped, dtype=getattr(torch, dtype), _internal=True
    )


def _segment(loading: Loading, segment: int) -> object:
    made = loading.storages.get(segment)
    if made is None:
        offset, size = loading.segments[segment]
        made = loading.storages[segment] = _new_storage(loading.buffers, offset, size)
    return made


def _new_storage(buffers: Buffers, offset: int, size: int) -> object:
    torch = _torch()
    if size == 0:
        return torch.UntypedStorage(0)
    view = torch.frombuffer(buffers.view(offset, size), dtype=torch.uint8)
    if buffers.is_big(size):
        return view.untyped_storage()
    # A storage of torch's own can be resized and is aligned as torch likes it.
    return (
        torch.empty(size, dtype=torch.uint8, device="cpu").copy_(view).untyped_storage()
    )


def _torch() -> Any:  # noqa: ANN401 - a module that must not be imported statically
    return importlib.import_module("torch")
