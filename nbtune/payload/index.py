"""``index.json``: what is where in a payload."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtune.record import write_json

__all__ = ["Frame", "Index", "Reference", "read_index", "write_index"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A name with a pickle frame.

    Attributes:
        name: the notebook's name.
        root: whether it was asked for, not reached.
        offset: first byte in ``values.pkl``.
        size: bytes there.
        buffers: number of the first of its buffers.
    """

    name: str
    root: bool
    offset: int
    size: int
    buffers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A name bound to a module, or to a function or class of one.

    Such names need no pickle and come first: code that runs while the others are
    loaded may use them.

    Attributes:
        name: the notebook's name.
        root: whether it was asked for, not reached.
        module: the module's name.
        qualname: dotted path in it, ``""`` for the module itself.
    """

    name: str
    root: bool
    module: str
    qualname: str


@dataclass(slots=True, kw_only=True)
class Index:
    """The whole index.

    Attributes:
        frames: in the order in which they were written.
        references: names that are imported.
        buffers: ``(offset, bytes)`` of each buffer in ``buffers.bin``.
        segments: ``(offset, bytes)`` of each storage there.
        views: see ``Loading.views``.
        sources: text and cell number by file name.
    """

    frames: list[Frame] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    buffers: list[tuple[int, int]] = field(default_factory=list)
    segments: list[tuple[int, int]] = field(default_factory=list)
    views: list[list[object]] = field(default_factory=list)
    sources: dict[str, tuple[str, int | None]] = field(default_factory=dict)


def write_index(folder: Path, index: Index) -> None:
    """Write the index, which makes the payload whole.

    Raises:
        OSError: the folder cannot be written.
    """
    write_json(folder / "index.json", dataclasses.asdict(index))


def read_index(folder: Path) -> Index:
    """Read the index of a whole payload.

    Raises:
        OSError: there is none.
    """
    data: dict[str, Any] = json.loads((folder / "index.json").read_bytes())
    frames = [Frame(**entry) for entry in data.pop("frames")]
    references = [Reference(**entry) for entry in data.pop("references")]
    return Index(frames=frames, references=references, **data)
