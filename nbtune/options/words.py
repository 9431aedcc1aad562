"""A magic line to words: quotes as in a POSIX shell, placeholders filled in.

* ``'...'`` is taken literally, nothing in it is filled in.
* ``"..."`` keeps blanks; placeholders in it are filled in. A backslash keeps
  ``$``, ``{``, ``}``, ``"`` and itself from meaning anything.
* Outside quotes a backslash keeps any next character as it is.
* ``{expr}``, ``$name`` and ``${name}`` are filled in each on its own, and never
  split at blanks, with one exception: a word that is nothing but a placeholder
  without quotes and whose value starts with a dash is read as options, so that
  ``%%torchrun {options}`` works. Such a word that is empty is left out.
* ``{{``, ``}}`` and ``$$`` stand for one of the character.
* ``#`` at the start of a word begins a comment.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from nbtune.errors import OptionError

from .fill import Filler, find_close, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["join_continuation", "split_words"]

_NAME = re.compile(r"[^\W\d]\w*")
_PIECES = re.compile(
    r"""'[^']*' | "(?:\\.|[^"\\])*" | \\. | (?P<comment>(?<!\S)\#) | .""",
    re.VERBOSE | re.DOTALL,
)
_KEPT_IN_QUOTES = '\\"${}`'  # what a backslash escapes between double quotes


def split_words(
    line: str, *, namespace: Mapping[str, object], environ: Mapping[str, str]
) -> list[str]:
    """Split a magic line into words.

    Raises:
        OptionError: a quote or brace is not closed, or a placeholder cannot be
            filled in.
    """
    return _Splitter(line, Filler(namespace, environ)).run()


def join_continuation(line: str, cell: str) -> tuple[str, str, int]:
    r"""Join option lines that end in a backslash.

    Args:
        line: the rest of the magic's own line.
        cell: the lines below it.

    Returns:
        The whole option line, the rest of the cell, and how many lines of the
        notebook's cell come before that rest.
    """
    count = 1
    while _continues(line):
        if not cell:
            return line.rstrip()[:-1], "", count
        following, _, cell = cell.partition("\n")
        line = line.rstrip()[:-1] + following
        count += 1
    return line, cell, count


def _continues(line: str) -> bool:
    line = line.rstrip()
    backslashes = len(line) - len(line.rstrip("\\"))
    if backslashes % 2 == 0:
        return False
    return not any(piece["comment"] for piece in _PIECES.finditer(line))


class _Splitter:
    """Goes through a line once, from left to right."""

    def __init__(self, text: str, filler: Filler) -> None:
        self._text = text
        self._filler = filler
        self._at = 0
        self._words: list[str] = []
        self._parts: list[str] = []
        self._begun = False  # a word has begun, if only with an empty quote
        self._filled = False  # the word is one placeholder without quotes so far
        self._opened = -1  # where the double quote that is open began

    def run(self) -> list[str]:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        if self._opened >= 0:
            raise self._unclosed(self._opened)
        self._end_word()
        return self._words

    def _step(self, char: str) -> None:
        quoted = self._opened >= 0
        match char:
            case '"':
                self._opened = -1 if quoted else self._at
                self._add("", 1)
            case "'" if not quoted:
                self._single()
            case "\\":
                self._escape(quoted=quoted)
            case "{" | "}" | "$":
                self._placeholder(char)
            case "#" if not (quoted or self._begun):
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            case _ if char.isspace() and not quoted:
                self._end_word()
                self._at += 1
            case _:
                self._add(char, 1)

    def _single(self) -> None:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise self._unclosed(self._at)
        self._add(self._text[self._at + 1 : end], end + 1 - self._at)

    def _escape(self, *, quoted: bool) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        kept = "\\" if quoted and following not in _KEPT_IN_QUOTES else ""
        self._add(kept + following, 2)

    def _placeholder(self, char: str) -> None:
        rest = self._text[self._at + 1 :]
        if rest.startswith(char):
            self._add(char, 2)
        elif char == "{":
            source = self._braced(1)
            self._fill(self._filler.expression(source), len(source) + 2)
        elif char == "$" and rest.startswith("{"):
            name = self._braced(2)
            if not _NAME.fullmatch(name):
                raise OptionError(f"${{{one_line(name)}}}: a name goes between braces")
            self._fill(self._filler.variable(name), len(name) + 3)
        elif char == "$" and (found := _NAME.match(rest)):
            self._fill(self._filler.variable(found[0]), len(found[0]) + 1)
        else:
            self._add(char, 1)

    def _braced(self, skip: int) -> str:
        start = self._at + skip
        end = find_close(self._text, start)
        if end < 0:
            shown = one_line(self._text[self._at :])
            raise OptionError(f"a brace is never closed: {shown} (write {{{{ for one)")
        return self._text[start:end]

    def _fill(self, value: str, length: int) -> None:
        alone = not self._begun and self._opened < 0
        self._add(value, length)
        self._filled = alone

    def _add(self, text: str, length: int) -> None:
        self._parts.append(text)
        self._begun, self._filled = True, False
        self._at += length

    def _end_word(self) -> None:
        word = "".join(self._parts)
        if self._filled and word.startswith("-"):
            self._words += _split_value(word)
        elif self._begun and not (self._filled and not word):
            self._words.append(word)
        self._parts, self._begun, self._filled = [], False, False

    def _unclosed(self, at: int) -> OptionError:
        quote = self._text[at]
        shown = one_line(self._text[at:])
        return OptionError(
            f"a quote is never closed: {shown} (write \\{quote} for the character)"
        )


def _split_value(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError as error:
        raise OptionError(f"a quote is never closed: {one_line(value)}") from error
