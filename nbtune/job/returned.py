"""What came back from the ranks, and how it gets its names in the notebook."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbtune.payload import unpack
from nbtune.record import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtune.record import JobDir

__all__ = ["NotBroughtBack", "Returned", "load_rank"]


@dataclass(frozen=True, slots=True)
class NotBroughtBack:
    """Stands where a value would, and says why it is absent."""

    name: str
    reason: str

    def __repr__(self) -> str:
        return f"<{self.name} was not brought back: {self.reason}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """One rank's values.

    Attributes:
        values: by name.
        classes: classes defined in the cell that the values need, by name.
        lost: reason by name, for values that could not be packed or loaded.
        missing: names that the rank never set.
        stayed: names that the cell assigned and nobody asked for.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    classes: Mapping[str, object] = field(default_factory=dict)
    lost: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    stayed: tuple[str, ...] = ()

    def get(self, name: str, rank: int) -> object:
        """The value, or a marker that says why there is none."""
        if name in self.values:
            return self.values[name]
        reason = self.lost.get(name, f"not set on rank {rank}")
        return NotBroughtBack(name, reason)


def load_rank(
    folder: JobDir,
    rank: int,
    namespace: dict[str, object],
    classes: Mapping[str, type],
) -> Returned:
    """Load what *rank* wrote, each name on its own account.

    Args:
        folder: the job's folder.
        rank: global rank.
        namespace: the notebook's, globals of functions that come back.
        classes: notebook classes by the key that the payload gave them.
    """
    home = folder.results(rank)
    report = read_json(home / "report.json")
    if report is None:
        return Returned()
    lost = report["left_out"]
    missing, stayed = report["missing"], report["stayed"]
    assert isinstance(lost, dict)  # noqa: S101 - written by our own rank
    assert isinstance(missing, list)  # noqa: S101 - the same
    assert isinstance(stayed, list)  # noqa: S101 - the same
    loaded = unpack(home, namespace=namespace, known=classes)
    return Returned(
        values=loaded.values,
        classes=loaded.reached,
        lost={**lost, **loaded.failures},
        missing=tuple(missing),
        stayed=tuple(stayed),
    )
