"""A value that cannot travel: which one, where in it, why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from .paths import path_to

__all__ = ["Problem", "describe"]

_LONGEST_REASON = 200  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One value that cannot travel.

    Attributes:
        name: the notebook's name for the value that was packed.
        path: where in it the culprit is, for instance ``"bag.inner['guard']"``;
            ``"bag[...]"`` if it was not found.
        type_name: the culprit's type, for instance ``"_thread.lock"``.
        via: the name whose value uses *name*, ``""`` if it was asked for itself.
        advice: what to do about it.
    """

    name: str
    path: str
    type_name: str
    via: str = ""
    advice: str = ""

    def __str__(self) -> str:
        """The one line that a user sees."""
        place = f", reached through `{self.via}`," if self.via else ""
        text = f"`{self.name}`{place} cannot be sent: {self.culprit}"
        return f"{text}; {self.advice}" if self.advice else text

    @property
    def culprit(self) -> str:
        """What in the value it is, and of which type."""
        subject = "it" if self.path == self.name else self.path
        return f"{subject} is a {self.type_name}"


def describe(
    name: str, value: object, culprit: object, error: BaseException, via: str = ""
) -> Problem:
    """Explain why packing *value* ended in *error*.

    Args:
        name: the notebook's name for *value*.
        value: what was packed.
        culprit: what the pickler was at.
        error: what was raised.
        via: the name through which *name* was reached.
    """
    if isinstance(error, RecursionError):
        kind, advice = type_name(value), "nested too deeply, flatten it"
        return Problem(name=name, path=name, type_name=kind, via=via, advice=advice)
    path = path_to(culprit, value, name)
    return Problem(
        name=name,
        path=path or f"{name}[...]",
        type_name=type_name(culprit),
        via=via,
        advice=_advice(culprit, error),
    )


def type_name(value: object) -> str:
    """The type's name as a user knows it, with its module."""
    kind = type(value)
    if kind.__module__ in {"builtins", "__main__"}:
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _advice(culprit: object, error: BaseException) -> str:
    """What to do, with the reason where the type alone does not tell it."""
    cure = "build it inside the cell"
    if isinstance(error, TypeError) and "cannot pickle" in str(error):
        return cure
    if type(culprit).__module__ in {"_io", "_thread", "_socket", "socket"}:
        return cure
    reason = str(error).partition("\n")[0][:_LONGEST_REASON]
    # Templates that a library forgot to fill in say nothing.
    if not reason or "{}" in reason:
        return cure
    return f"{cure} ({type(error).__name__}: {reason})"
