"""``--out``: binding what a cell gives back, and saying what it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtune.record import Cell, read_json

from .returned import NotBroughtBack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .handle import Job
    from .returned import Returned

__all__ = ["bind_results", "shown_text"]

_LISTED = 10  # names in the closing line


def bind_results(
    job: Job, namespace: dict[str, object], hidden: Mapping[str, object]
) -> list[str]:
    """Bind the names asked for; call it for a job that succeeded.

    Values are all loaded before the first name changes. A class of the cell that
    a value needs comes along, unless its name is taken.

    Args:
        job: the job.
        namespace: the notebook's names.
        hidden: IPython's own names, which are not the user's and may be taken.

    Returns:
        Lines that say what did not come back.
    """
    spec = job.spec
    if spec is None or not isinstance(spec.entry, Cell):
        return []
    first = job.returned(0)
    values = dict(first.values)
    for name in spec.entry.out_all:
        by_rank = [job.returned(rank) for rank in range(spec.nproc)]
        values[name] = [one.get(name, rank) for rank, one in enumerate(by_rank)]
    out = [name for name in spec.entry.out if name != "*"]
    gone = [name for name in first.missing if name in out]
    for name in [*first.lost, *gone]:
        if name not in namespace and name not in values:
            marker = first.get(name, 0)
            assert isinstance(marker, NotBroughtBack)  # noqa: S101 - it is not in values
            values[name] = marker
    free = {
        name: kind
        for name, kind in first.classes.items()
        if name not in namespace or namespace[name] is hidden.get(name)
    }
    namespace.update({**free, **values})
    return _closing_lines(first, gone)


def shown_text(job: Job) -> str:
    """Text of the last expression's value on rank 0, ``""`` if there is none."""
    record = read_json(job.folder.rank(0) / "shown.json") or {}
    texts = record.get("text", [])
    assert isinstance(texts, list)  # noqa: S101 - written by our own rank
    return "\n".join(texts)


def _closing_lines(first: Returned, gone: list[str]) -> list[str]:
    lines = [
        f"nbtune: `{name}` was not brought back: {why}"
        for name, why in first.lost.items()
    ]
    lines += [
        f"nbtune: `{name}` was not brought back: not set on rank 0" for name in gone
    ]
    if first.stayed:
        listed = ", ".join(first.stayed[:_LISTED])
        more = len(first.stayed) - _LISTED
        rest = f" and {more} more" if more > 0 else ""
        lines.append(
            f"nbtune: assigned and not brought back: {listed}{rest} (--out NAMES)"
        )
    return lines
