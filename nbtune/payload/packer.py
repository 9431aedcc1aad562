"""``pack``: write values, and what they reach, into a folder."""

from __future__ import annotations

import collections
import contextlib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloudpickle import cloudpickle

from . import sources, torch_values
from .buffers import BufferWriter
from .frames import FrameWriter
from .index import Frame, Index, Reference, write_index
from .packing import Finds, Packing, View
from .pickler import ValuePickler
from .problems import Problem, describe

__all__ = ["Packed", "pack"]

_Follow = Callable[[str, object], bool]

# Every module has its own of these, as the other side's ``__main__`` does.
_MODULE_NAMES = frozenset({*vars(types.ModuleType("")), "__builtins__"})
# Every IPython has its own of these, a rank too.
_SHELL_NAMES = frozenset({"exit", "get_ipython", "quit"})
_SHELLS = frozenset({"IPython", "ipykernel"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """What ``pack`` did.

    Attributes:
        names: roots and reached names that were packed, in order.
        sizes: bytes by name, buffers included; memory that several names share
            counts for the first.
        problems: the names that were left out, and why.
        warnings: what does not arrive as it was, one line each.
        modules: modules that the other side has to import.
        classes: classes packed by value, by a key that both sides know.
        reached: names that were not asked for, and through which name each came.
    """

    names: tuple[str, ...]
    sizes: dict[str, int]
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]
    modules: frozenset[str]
    classes: dict[str, type]
    reached: dict[str, str]


def pack(
    roots: Mapping[str, object],
    folder: Path | None,
    *,
    namespace: dict[str, object],
    follow: bool | _Follow = True,
    known: Mapping[type, str] | None = None,
    numbers: Mapping[str, int] | None = None,
) -> Packed:
    """Write *roots* into *folder*, each on its own, sharing among them kept.

    A value that cannot travel becomes a problem and costs none of the others.

    Args:
        roots: the values, by name.
        folder: where to write, created if need be; None to only count bytes.
        namespace: the ``__dict__`` of this side's ``__main__``. Functions that
            have it as their globals get the other side's.
        follow: whether the names that functions and classes use in *namespace*
            are packed as well, or a rule ``(name, value) -> bool`` that says so
            for each. Classes packed by value always bring their own name.
        known: classes that the other side owns already, with their keys: packed
            by key.
        numbers: the notebook's ``In[n]`` by file name of a cell.

    Returns:
        What was packed, what was not, how much it is.

    Raises:
        OSError: *folder* cannot be written; remove what is in it.
    """
    if folder is not None:
        _clear(folder)
    with contextlib.ExitStack() as stack:
        packer = _Packer(
            packing=Packing(namespace, known),
            follow=follow if callable(follow) else lambda _, __: follow,
            frames=stack.enter_context(FrameWriter(_file(folder, "values.pkl"))),
            buffers=stack.enter_context(BufferWriter(_file(folder, "buffers.bin"))),
        )
        packer.pack_all(roots)
        packer.write_tensors()
    packer.index.sources = sources.collect(packer.files, numbers or {})
    if folder is not None:
        write_index(folder, packer.index)
    return packer.packed()


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # The index first: without it nothing else counts. And no file is written
    # over: a reader may have mapped it.
    for name in ("index.json", "values.pkl", "buffers.bin"):
        (folder / name).unlink(missing_ok=True)


def _file(folder: Path | None, name: str) -> Path | None:
    return None if folder is None else folder / name


@dataclass(frozen=True, slots=True)
class _Wanted:
    name: str
    value: object
    via: str = ""


class _Packer:
    """One payload in the making."""

    def __init__(
        self,
        *,
        packing: Packing,
        follow: _Follow,
        frames: FrameWriter,
        buffers: BufferWriter,
    ) -> None:
        self.index = Index()
        self.files: dict[str, None] = {}
        self._packing = packing
        self._follow = follow
        self._frames = frames
        self._buffers = buffers
        self._pickler = ValuePickler(frames, packing)
        self._waiting: collections.deque[_Wanted] = collections.deque()
        self._seen: set[str] = set()
        self._views: list[tuple[str, View]] = []
        self._sizes: dict[str, int] = {}
        self._problems: list[Problem] = []
        self._culprits: dict[int, object] = {}
        self._warnings: dict[str, None] = {}
        self._modules: set[str] = set()
        self._classes: dict[str, type] = {}
        self._reached: dict[str, str] = {}

    def pack_all(self, roots: Mapping[str, object]) -> None:
        """Pack *roots*, then what they reach, until there is nothing more."""
        self._seen.update(roots)
        self._waiting.extend(_Wanted(name, value) for name, value in roots.items())
        while self._waiting:
            wanted = self._waiting.popleft()
            reference = _reference(wanted)
            if reference is not None:
                self.index.references.append(reference)
                self._packing.finds.modules.add(reference.module)
                self._keep(wanted, size=0)
            else:
                self._pack_frame(wanted)

    def _pack_frame(self, wanted: _Wanted) -> None:
        start = self._frames.position
        # The fresh list is the frame's first entry in the pickler's memo, so that
        # a failed frame can be taken out of it.
        box = [wanted.value]
        try:
            self._pickler.dump(box)
        except (Exception, SystemExit) as error:
            if self._frames.error is not None:
                raise
            # Anything may be raised by the values' own code.
            self._leave_out(wanted, box, error)
            self._frames.cut(start)
            return
        size = self._frames.position - start
        frame = Frame(
            name=wanted.name,
            root=not wanted.via,
            offset=start,
            size=size,
            buffers=len(self.index.buffers),
        )
        self.index.frames.append(frame)
        self._keep(wanted, size=size)

    def _keep(self, wanted: _Wanted, *, size: int) -> None:
        finds = self._packing.next_name(kept=True)
        self._sizes[wanted.name] = size + sum(b.nbytes for b in finds.buffers)
        self.index.buffers += [self._buffers.add(buffer) for buffer in finds.buffers]
        self._views += [(wanted.name, view) for view in finds.views]
        self._warnings.update({f"{wanted.name}: {t}": None for t in finds.warnings})
        self._modules |= finds.modules
        self._classes |= finds.classes
        self.files |= finds.files
        if wanted.via:
            self._reached[wanted.name] = wanted.via
        self._queue_names(finds, wanted.name)

    def _leave_out(self, wanted: _Wanted, box: object, error: BaseException) -> None:
        culprit = self._pickler.newest
        problem = describe(wanted.name, wanted.value, culprit, error, wanted.via)
        # The class of a root that failed on its class is not a second offender.
        if not wanted.via or id(culprit) not in self._culprits:
            self._problems.append(problem)
        self._culprits[id(culprit)] = culprit
        self._pickler.forget_since(box)
        # What an offender uses may offend as well: all are told at once.
        self._queue_names(self._packing.next_name(kept=False), wanted.name)

    def _queue_names(self, finds: Finds, via: str) -> None:
        namespace = self._packing.namespace
        for name in (*finds.names, *finds.bound_classes):
            if name in self._seen or name in _MODULE_NAMES or name not in namespace:
                continue
            value = namespace[name]
            if name in finds.bound_classes or self._follows(name, value):
                self._seen.add(name)
                self._waiting.append(_Wanted(name, value, via))

    def _follows(self, name: str, value: object) -> bool:
        if name in _SHELL_NAMES and _is_of_a_shell(value):
            return False
        return self._follow(name, value)

    def write_tensors(self) -> None:
        """Write the memory of all tensors, now that it is known what they share."""
        views = [view for _, view in self._views]
        segments, self.index.views = torch_values.lay_out(views)
        for segment in segments:
            first = segment.views[0]
            place = self._buffers.add(torch_values.memory(segment, views[first]))
            self.index.segments.append(place)
            self._sizes[self._views[first][0]] += place[1]

    def packed(self) -> Packed:
        """The summary."""
        return Packed(
            names=tuple(self._sizes),
            sizes=self._sizes,
            problems=tuple(self._problems),
            warnings=tuple(self._warnings),
            modules=frozenset(self._modules),
            classes=self._classes,
            reached=self._reached,
        )


def _reference(wanted: _Wanted) -> Reference | None:
    """How to import a value that its module knows by name."""
    value: Any = wanted.value
    # Not isinstance: it asks the value, whose code may do anything.
    kind = type(value)
    if issubclass(kind, types.ModuleType):
        module, qualname = value.__name__, ""
    elif issubclass(kind, (types.FunctionType, type)):
        module, qualname = value.__module__ or "", value.__qualname__
    else:
        return None
    if module in {"", "__main__"}:
        return None
    if not cloudpickle._should_pickle_by_reference(value):  # noqa: SLF001 - its rule is ours
        return None
    return Reference(
        name=wanted.name, root=not wanted.via, module=module, qualname=qualname
    )


def _is_of_a_shell(value: object) -> bool:
    method = type(value) is types.MethodType
    owner = value.__self__ if method else value  # type: ignore[attr-defined] # a method has it
    return type(owner).__module__.partition(".")[0] in _SHELLS
