"""What a ``{expr}``, a ``$name`` or a ``${name}`` on a magic line stands for."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtune.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType

__all__ = ["Filler", "find_close", "one_line"]

_QUOTES = "'\""
_LONGEST = 160  # characters of the user's text that go into a message


def one_line(text: str) -> str:
    """*text* on one line, shortened if need be."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


@dataclass(frozen=True, slots=True)
class Filler:
    """Looks names up in the notebook, then in the environment.

    Args:
        namespace: the notebook's names; nothing is assigned in it.
        environ: the environment, for ``$NAME`` alone.
    """

    namespace: Mapping[str, object]
    environ: Mapping[str, str]

    def variable(self, name: str) -> str:
        """The text for ``$name``.

        Raises:
            OptionError: neither the notebook nor the environment has *name*.
        """
        if name in self.namespace:
            return _text(self.namespace[name], f"${name}")
        if name in self.environ:
            return self.environ[name]
        raise OptionError(
            f"`{name}` is not a notebook variable, nor an environment variable "
            f"(write $$ for a dollar sign)"
        )

    def expression(self, source: str) -> str:
        """The text for ``{source}``, a format such as ``{lr:.2e}`` included.

        Raises:
            OptionError: it is no expression, uses a name that the notebook does
                not have, or raises.
        """
        if not source.strip():
            raise OptionError("`{}` is empty: write {{ and }} for braces")
        shown = f"{{{one_line(source)}}}"
        spec, code = "", _compile(source)
        if code is None:
            head, _, spec = source.rpartition(":")
            code = _compile(head)
        if code is None:
            raise OptionError(
                f"{shown} is not a Python expression (write {{{{ and }}}} for braces)"
            )
        return self._evaluate(code, spec, shown)

    def _evaluate(self, code: CodeType, spec: str, shown: str) -> str:
        # A copy: comprehensions see all names, and `:=` changes none.
        names = {"__builtins__": builtins, **self.namespace}
        try:
            value = eval(code, names)  # noqa: S307 - the user's own code
        except NameError as error:
            raise OptionError(self._undefined(error, shown)) from error
        except Exception as error:
            raise OptionError(_failed(shown, error)) from error
        return _text(value, shown, spec)

    def _undefined(self, error: NameError, shown: str) -> str:
        if not error.name or error.name in self.namespace:
            return _failed(shown, error)
        message = f"`{error.name}` is not a notebook variable"
        if error.name in self.environ:
            return f"{message}; write ${error.name} for the environment variable"
        return message if shown == f"{{{error.name}}}" else f"{message}, in {shown}"


def find_close(text: str, start: int) -> int:
    """Index of the brace that closes the one before *start*, -1 if none does."""
    depth, at = 1, start
    while at < len(text):
        char = text[at]
        if char in _QUOTES:
            at = _skip_string(text, at)
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if not depth:
                return at
        at += 1
    return -1


def _skip_string(text: str, at: int) -> int:
    quote = text[at]
    at += 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at


def _compile(source: str) -> CodeType | None:
    try:
        return compile(source.strip(), "<option>", "eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _text(value: object, shown: str, spec: str = "") -> str:
    try:
        return format(value, spec) if spec else str(value)
    except Exception as error:
        raise OptionError(_failed(shown, error)) from error


def _failed(shown: str, error: Exception) -> str:
    try:
        text = str(error)
    except Exception as worse:  # noqa: BLE001 - the user's class; its name will do
        text = type(worse).__name__
    return one_line(f"{shown} raised {type(error).__name__}: {text}")
