"""An option that was given, and by whom: the line, the defaults, the environment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from nbtune.errors import OptionError

from .fill import one_line

__all__ = ["Given", "Level"]


class Level(IntEnum):
    """Who gave an option; the higher one wins."""

    TORCH = 0
    ENVIRONMENT = 1
    DEFAULTS = 2
    LINE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One option with its values.

    Attributes:
        dest: its name in torch's parser.
        flag: its spelling, ``"--nproc-per-node"``.
        values: what was written; empty for a switch.
        level: who gave it.
        variable: the environment variable it comes from, ``""`` otherwise.
    """

    dest: str
    flag: str
    values: tuple[str, ...] = ()
    level: Level = Level.LINE
    variable: str = ""

    @property
    def value(self) -> str:
        """The last value, ``""`` for a switch."""
        return self.values[-1] if self.values else ""

    @property
    def label(self) -> str:
        """What an error calls it: the option, or the variable."""
        if self.level is Level.DEFAULTS:
            return f"{self.flag} (in %torchrun_defaults)"
        return self.variable or self.flag

    @property
    def shown(self) -> str:
        """The option with its value, as its user wrote it."""
        if self.level is Level.ENVIRONMENT:
            return f"{self.variable}={one_line(self.value) or '1'}"
        value = one_line(self.value) if self.value or not self.values else "''"
        where = " (in %torchrun_defaults)" if self.level is Level.DEFAULTS else ""
        return f"{self.flag} {value}".rstrip() + where

    @property
    def argv(self) -> tuple[str, ...]:
        """The words for torchrun."""
        if len(self.values) == 1 and self.value.startswith("-"):
            return (f"{self.flag}={self.value}",)
        return (self.flag, *self.values)

    def wrong(self, need: str) -> OptionError:
        """An error that names the option, its value, and what is needed."""
        return OptionError(f"{self.shown}: {need}")

    def whole_number(self, least: int) -> int:
        """The value as an ``int`` of at least *least*.

        Raises:
            OptionError: it is something else.
        """
        try:
            number = int(self.value)
        except ValueError:
            raise self.wrong("a whole number is needed") from None
        if number < least:
            raise self.wrong(f"at least {least} is needed")
        return number

    def number(self) -> float:
        """The value as a finite ``float``, zero or more.

        Raises:
            OptionError: it is something else.
        """
        try:
            number = float(self.value)
        except ValueError:
            raise self.wrong("a number is needed") from None
        if not 0 <= number < float("inf"):
            raise self.wrong("a number of zero or more is needed")
        return number
