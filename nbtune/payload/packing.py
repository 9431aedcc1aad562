"""What the reducers of one ``pack`` call share: what they know, what they note."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Finds", "Packing", "View"]

_SMALL = 1024  # bytes; below this a buffer is cheaper inside the pickle


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A tensor as a window on a storage.

    Attributes:
        storage: torch's untyped storage; kept alive, for its memory is read last.
        tensor: the tensor without its graph; None for a whole storage.
        start: first byte used.
        stop: byte after the last one used.
        size: the tensor's shape.
        stride: the tensor's strides, in elements.
        itemsize: bytes of one element.
        dtype: name in the ``torch`` module, for instance ``"float32"``.
        requires_grad: whether it is a leaf that wants a gradient.
    """

    storage: Any
    tensor: Any
    start: int
    stop: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    itemsize: int
    dtype: str
    requires_grad: bool

    @property
    def key(self) -> tuple[int, int]:
        """Two storages with the same memory are one."""
        return self.storage.data_ptr(), self.storage.nbytes()


@dataclass(slots=True)
class Finds:
    """What the reducers noted while one name was packed."""

    names: dict[str, None] = field(default_factory=dict)
    bound_classes: dict[str, None] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    classes: dict[str, type] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    views: list[View] = field(default_factory=list)
    buffers: list[memoryview] = field(default_factory=list)


class Packing:
    """The state that reducers read and write.

    Args:
        namespace: the notebook's names, the ``__dict__`` of ``__main__``.
        known: classes that the other side owns already, and their keys.
    """

    def __init__(
        self, namespace: dict[str, object], known: Mapping[type, str] | None = None
    ) -> None:
        self.namespace = namespace
        # By identity: a metaclass may define equality as it likes. The classes
        # are kept as well, so that no other object gets one of these ids.
        self._known = {id(cls): (cls, key) for cls, key in (known or {}).items()}
        self._globals: dict[int, tuple[object, dict[str, object]]] = {}
        self._views = 0
        self.finds = Finds()

    def known_key(self, cls: type) -> str | None:
        """The key of a class that the other side owns."""
        entry = self._known.get(id(cls))
        return None if entry is None else entry[1]

    def new_class(self, cls: type) -> str:
        """Note a class that is packed by value; its key on both sides."""
        key = f"{cls.__qualname__}-{uuid.uuid4().hex}"
        self.finds.classes[key] = cls
        return key

    def note_bound(self, value: Any) -> None:  # noqa: ANN401 - functions and classes
        """If the notebook knows *value* under its own name, that name goes along."""
        name = getattr(value, "__name__", None)
        if isinstance(name, str) and self.namespace.get(name) is value:
            bound = self.finds.bound_classes
            (bound if isinstance(value, type) else self.finds.names)[name] = None

    def globals_of(self, namespace: dict[str, object]) -> dict[str, object]:
        """The start of a foreign function's globals; one dict for one original."""
        kept = ("__package__", "__name__", "__path__", "__file__")
        start = {name: namespace[name] for name in kept if name in namespace}
        return self._globals.setdefault(id(namespace), (namespace, start))[1]

    def add_view(self, view: View) -> int:
        """Note a view; its number in the payload."""
        self.finds.views.append(view)
        return self._views + len(self.finds.views) - 1

    def take_buffer(self, buffer: Any) -> bool:  # noqa: ANN401 - pickle.PickleBuffer
        """A ``buffer_callback``: True leaves the buffer inside the pickle."""
        view: memoryview = buffer.raw()
        if view.nbytes < _SMALL:
            return True
        self.finds.buffers.append(view)
        return False

    def next_name(self, *, kept: bool) -> Finds:
        """Start noting for another name; what was noted for the last one.

        Args:
            kept: whether the last name's frame stays in the payload.
        """
        finds, self.finds = self.finds, Finds()
        if kept:
            self._views += len(finds.views)
        return finds
