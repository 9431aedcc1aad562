"""A failed rank's report: what a notebook shows of a ``WorkerError``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .last_words import last_words
from .wording import printable, ranks, shortened

if TYPE_CHECKING:
    from nbtune.record import JobDir, LaunchSpec, Verdict, WorkerFailure

__all__ = ["failure_lines", "report", "what_failed"]


def report(folder: JobDir, verdict: Verdict, spec: LaunchSpec | None) -> list[str]:
    """The rank that failed first, its traceback, then the others in a line each."""
    root = verdict.root
    name = (spec.name if spec else "") or folder.id
    details = f"job {name}"
    if verdict.same:
        details += f", also on {ranks(failure.rank for failure in verdict.same)}"
    header = printable(f"rank {root.rank} {what_failed(root)}  ({details})")
    lines = [header, *_body(folder, root, header, spec)]
    others = _others(verdict)
    return [*lines, "others:", *others] if others else lines


def what_failed(failure: WorkerFailure) -> str:
    """As ``failure.what()``, in the words of a headline."""
    what = failure.what()
    raised = what.removeprefix("raised ")
    return what if raised == what else f"failed: {raised}"


def failure_lines(folder: JobDir, failure: WorkerFailure) -> list[str]:
    """The traceback of a failure, shortened if need be."""
    log = folder.log(failure.attempt, failure.rank)
    return shortened(
        printable(failure.traceback),
        message=printable(failure.message),
        where=os.fspath(log.failure),
    )


def _body(
    folder: JobDir, root: WorkerFailure, header: str, spec: LaunchSpec | None
) -> list[str]:
    if not root.exception:
        return last_words(folder.log(root.attempt, root.rank), spec)
    # An error without frames, such as a value that could not be loaded, would
    # only say the same again.
    said = printable(root.plain_traceback.strip()) in header
    return [] if said else failure_lines(folder, root)


def _others(verdict: Verdict) -> list[str]:
    numbers: dict[str, list[int]] = {}
    for failure in verdict.others:
        numbers.setdefault(failure.what(), []).append(failure.rank)
    for failure in verdict.consequences:
        numbers.setdefault(_consequence(failure), []).append(failure.rank)
    return [
        printable(f"  {ranks(group)} {_plural(what) if group[1:] else what}")
        for what, group in numbers.items()
    ]


def _consequence(failure: WorkerFailure) -> str:
    if failure.stopped:
        return "was stopped"
    return f"lost its peer: {failure.what().removeprefix('raised ')}"


def _plural(what: str) -> str:
    verb, *rest = what.split(" ", 1)
    words = " ".join([{"was": "were"}.get(verb, verb), *rest])
    return words.replace("lost its peer:", "lost their peer:", 1)
