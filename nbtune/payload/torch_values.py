"""Tensors and storages: their memory goes out of band and stays shared.

Other kinds (on a device, quantized, sparse, subclasses) go the way torch chose
for them; what they hold of plain tensors and storages arrives here all the same.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from .loading import storage, tensor, typed_storage
from .packing import Packing, View

__all__ = ["Segment", "lay_out", "memory", "reducer_for"]

_ALIGNMENT = 16  # bytes; the largest element, complex128
_SPARSE = 2  # a view that uses less than one byte in so many is made compact


def reducer_for(kind: type) -> Callable[[Any, Packing], Any] | None:
    """The reducer for objects of this exact type, if there is one here."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return None
    if issubclass(kind, torch.Tensor):
        return _reduce_tensor
    if issubclass(kind, torch.UntypedStorage):
        return _reduce_storage
    if issubclass(kind, torch.storage.TypedStorage):
        return _reduce_typed_storage
    return None


def _reduce_tensor(value: Any, packing: Packing) -> Any:  # noqa: ANN401 - torch's
    if value.grad_fn is not None:
        packing.finds.warnings["its autograd graph is not sent"] = None
    if not _is_plain(value):
        return NotImplemented
    untyped, itemsize = value.untyped_storage(), value.element_size()
    size, stride = tuple(value.shape), tuple(value.stride())
    start = value.storage_offset() * itemsize
    reach = sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1
    stop = start + reach * itemsize if 0 not in size else start
    if stop > untyped.nbytes():
        raise ValueError("its storage was freed")
    view = View(
        storage=untyped,
        tensor=value.detach(),
        start=start,
        stop=stop,
        size=size,
        stride=stride,
        itemsize=itemsize,
        dtype=str(value.dtype).removeprefix("torch."),
        requires_grad=value.requires_grad,
    )
    return tensor, (packing.add_view(view),)


def _is_plain(value: Any) -> bool:  # noqa: ANN401 - torch's
    torch = sys.modules["torch"]
    return (
        type(value) is torch.Tensor
        and value.device.type == "cpu"
        and value.layout is torch.strided
        and not (value.is_quantized or value.is_conj() or value.is_neg())
        # Releases before 2.13 have named dimensions.
        and not any(getattr(value, "names", ()))
        and not vars(value)
    )


def _reduce_storage(value: Any, packing: Packing) -> Any:  # noqa: ANN401 - torch's
    if value.device.type != "cpu":
        return NotImplemented
    size = value.nbytes()
    view = View(
        storage=value,
        tensor=None,
        start=0,
        stop=size,
        size=(size,),
        stride=(1,),
        itemsize=1,
        dtype="uint8",
        requires_grad=False,
    )
    return storage, (packing.add_view(view),)


def _reduce_typed_storage(value: Any, _: Packing) -> Any:  # noqa: ANN401 - torch's
    untyped = value._untyped_storage  # noqa: SLF001 - the public ways warn
    if untyped.device.type != "cpu":
        return NotImplemented
    return typed_storage, (untyped, str(value.dtype).removeprefix("torch."))


@dataclass(slots=True)
class Segment:
    """A part of a storage that overlapping views use, a storage of its own later.

    Attributes:
        start: first byte in the storage.
        stop: byte after the last one.
        views: numbers of its views, ascending.
        compact: a contiguous copy to send in its place, None for the bytes as
            they are.
    """

    start: int
    stop: int
    views: list[int]
    compact: Any = None


def lay_out(views: Sequence[View]) -> tuple[list[Segment], list[list[object]]]:
    """Decide which bytes of which storage travel.

    Views that overlap go on sharing memory; bytes that no view uses stay here.

    Returns:
        The segments, and for each view its row for ``Loading.views``.
    """
    order = sorted(range(len(views)), key=lambda n: (views[n].key, views[n].start))
    segments = [
        segment
        for _, numbers in groupby(order, key=lambda n: views[n].key)
        for segment in _merge(views, numbers)
    ]
    rows: list[list[object]] = [[] for _ in views]
    for place, segment in enumerate(segments):
        segment.views.sort()
        segment.compact = _compact(segment, [views[n] for n in segment.views])
        for number in segment.views:
            rows[number] = [place, *_row(views[number], segment)]
    return segments, rows


def _merge(views: Sequence[View], numbers: Iterable[int]) -> list[Segment]:
    segments: list[Segment] = []
    for number in numbers:
        view = views[number]
        start = view.start - view.start % _ALIGNMENT
        if segments and start < segments[-1].stop:
            segments[-1].stop = max(segments[-1].stop, view.stop)
            segments[-1].views.append(number)
        else:
            segments.append(Segment(start, max(start, view.stop), [number]))
    return segments


def _compact(segment: Segment, views: Sequence[View]) -> Any:  # noqa: ANN401 - torch's
    first = views[0]
    if first.tensor is None:
        return None
    windows = {(v.start, v.size, v.stride, v.dtype) for v in views}
    used = first.tensor.numel() * first.itemsize
    if len(windows) == 1 and used * _SPARSE < segment.stop - segment.start:
        return first.tensor.contiguous()
    return None


def _row(view: View, segment: Segment) -> list[object]:
    if segment.compact is not None:
        offset, stride = 0, list(segment.compact.stride())
    else:
        offset = (view.start - segment.start) // view.itemsize
        stride = list(view.stride)
    return [offset, list(view.size), stride, view.dtype, view.requires_grad]


def memory(segment: Segment, view: View) -> memoryview:
    """The bytes of *segment*, not copied; *view* is one of its views."""
    if segment.compact is not None:
        return _bytes_at(segment.compact.data_ptr(), segment.compact.nbytes)
    address = view.storage.data_ptr() + segment.start
    return _bytes_at(address, segment.stop - segment.start)


def _bytes_at(address: int, size: int) -> memoryview:
    if size == 0:
        return memoryview(b"")
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")
