"""Worker processes of a rank find the rank's functions and classes in ``__main__``.

A forked worker has them. A spawned one begins with an empty ``__main__``: no file
can be imported again for a cell. So a process that is about to be spawned takes
along what ``__main__`` defines, and what those definitions use; after that, all
pickling goes by name, as between the processes of a script.
"""

from __future__ import annotations

import functools
import io
import itertools
import os
import shutil
import sys
from dataclasses import dataclass
from multiprocessing import context, process, reduction  # noqa: TID251 - to serve a user's own worker processes, none is started here
from pathlib import Path
from types import FunctionType

from nbtune.payload import pack, unpack

__all__ = ["install"]

_dump = reduction.ForkingPickler.dump
_DEFINITIONS = (FunctionType, functools._lru_cache_wrapper, type)  # noqa: SLF001 - what @cache makes
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class _Definitions:
    """Stands for the parent's definitions; arriving means that they are there."""

    folder: Path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _receive, (os.fspath(self.folder),)


@dataclass(frozen=True, slots=True)
class _Start:
    """A process object that arrives after the definitions it may need."""

    definitions: _Definitions
    started: process.BaseProcess

    def __reduce__(self) -> tuple[object, tuple[object, object]]:
        return _unwrap, (self.definitions, self.started)


def install(namespace: dict[str, object], folder: Path) -> None:
    """Let processes that this one spawns find what ``__main__`` defines.

    Call it in a rank, or in a worker of one, never in the kernel: it changes
    ``multiprocessing`` for the whole process.

    Args:
        namespace: the ``__dict__`` of ``__main__``.
        folder: where definitions wait for their process.
    """

    def dump(self: reduction.ForkingPickler, obj: object) -> None:
        spawning = context.get_spawning_popen() is not None
        if spawning and isinstance(obj, process.BaseProcess):
            obj = _Start(_Definitions(_pack(namespace, folder)), obj)
        _dump(self, obj)

    reduction.ForkingPickler.dump = dump  # type: ignore[method-assign,assignment] # the one place all starting methods share


def _pack(namespace: dict[str, object], folder: Path) -> Path:
    own = folder / f"{os.getpid()}-{next(_numbers)}"
    definitions = {
        name: value
        for name, value in namespace.items()
        if isinstance(value, _DEFINITIONS) and value.__module__ == "__main__"
    }
    # What cannot travel is missed by name where it is used.
    pack(definitions, own, namespace=namespace)
    return own


def _receive(name: str) -> None:
    """Put the parent's definitions into ``__main__``; runs in the new process."""
    folder = Path(name)
    namespace = sys.modules["__main__"].__dict__
    loaded = unpack(folder, namespace=namespace)
    namespace.update(loaded.reached)
    namespace.update(loaded.values)
    shutil.rmtree(folder, ignore_errors=True)
    install(namespace, folder.parent)
    for stream in sys.stdout, sys.stderr:
        if isinstance(stream, io.TextIOWrapper):
            # Into the rank's file, line by line: a pool ends its workers with
            # a signal.
            stream.reconfigure(
                encoding="utf-8", errors="backslashreplace", line_buffering=True
            )


def _unwrap(_: None, started: process.BaseProcess) -> process.BaseProcess:
    return started
