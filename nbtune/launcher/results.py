"""What a rank gives back: the values asked for, each packed on its own account."""

from __future__ import annotations
import __future__

import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbtune.payload import pack
from nbtune.record import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .failing import RankPlace
    from .shell import RankShell

__all__ = ["Assigned", "write_results", "write_shown", "write_values"]


@dataclass(slots=True)
class Assigned:
    """Remembers what names meant before the cell ran."""

    namespace: dict[str, object]
    _before: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        self._before = dict(self.namespace)

    def names(self) -> list[str]:
        """Names that the cell bound, without IPython's own and private ones."""
        return [
            name
            for name, value in self.namespace.items()
            if not name.startswith("_")
            and (name not in self._before or self._before[name] is not value)
        ]


def write_results(
    place: RankPlace,
    wanted: tuple[str, ...],
    assigned: list[str],
    namespace: dict[str, object],
    known: Mapping[type, str],
) -> None:
    """Pack the *wanted* names, and write down what stays behind."""
    names = assigned if "*" in wanted else []
    names = list(dict.fromkeys([*names, *(name for name in wanted if name != "*")]))
    stayed = [
        name
        for name in assigned
        if name not in names and not _is_definition(namespace[name])
    ]
    values = {name: namespace[name] for name in names if name in namespace}
    missing = [name for name in names if name not in namespace]
    left_out = write_values(place, values, namespace, known)
    report = {"missing": missing, "left_out": left_out, "stayed": stayed}
    write_json(place.folder.results(place.rank) / "report.json", report)


def write_values(
    place: RankPlace,
    values: Mapping[str, object],
    namespace: dict[str, object],
    known: Mapping[type, str],
) -> dict[str, str]:
    """Pack *values*; return what cannot come back, with the reason for each."""
    folder = place.folder.results(place.rank)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        packed = pack(values, folder, namespace=namespace, follow=False, known=known)
    except OSError as error:
        # What was written goes first: the report itself needs room.
        for path in folder.iterdir():
            path.unlink()
        return dict.fromkeys(values, f"{error.strerror or error} in {folder}")
    return {problem.name: problem.culprit for problem in packed.problems}


def write_shown(place: RankPlace, shell: RankShell) -> None:
    """Keep the text of the last expression's value."""
    if shell.shown:
        folder = place.folder.rank(place.rank)
        write_json(folder / "shown.json", {"text": shell.shown})


def _is_definition(value: object) -> bool:
    """Imports, functions and classes: nobody misses them in the notebook."""
    kinds = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
    # Not isinstance: it asks the value, whose code may do anything.
    return issubclass(type(value), (*kinds, __future__._Feature))  # noqa: SLF001 - what its imports bind
