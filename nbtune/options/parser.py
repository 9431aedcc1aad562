"""Words to options, with argparse; a mistake is one line, never an exit."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import TYPE_CHECKING, NoReturn

from nbtune.errors import OptionError

from .fill import one_line
from .given import Given, Level
from .own import HELP, OWN, REPEATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .table import Table, TableOption

__all__ = ["NOT_IN_A_CELL", "Grammar", "HelpRequested"]

# Options that say how to find a script, and torch's place for logs of others.
NOT_IN_A_CELL = frozenset({"module", "no_python", "run_path", "logs_specs"})
_HELP = frozenset(HELP.flags)
_SHORTEST = 3  # letters of a word that two options may share
_DASHES = "–—‒−"  # noqa: RUF001 - what a word processor makes of two dashes
_USAGE = "%%%%torchrun [options]"  # argparse formats it with %
_INTRO = (
    "Run this cell on several ranks. Options may be spelt with dashes or "
    "underscores, their values follow = or a blank. {expr}, $name and ${name} are "
    "filled in from the notebook, except between single quotes."
)


class HelpRequested(Exception):  # noqa: N818 - not an error: help was asked for
    """``-h`` or ``--help`` was among the options.

    Attributes:
        text: the whole help text.
    """

    def __init__(self, text: str) -> None:
        super().__init__("help was asked for")
        self.text = text


class _Parser(argparse.ArgumentParser):
    """argparse that raises its first complaint."""

    def error(self, message: str) -> NoReturn:
        found = re.match(r"argument ([^:]*): (.*)", message, re.DOTALL)
        if found is None:
            raise OptionError(one_line(message))
        flag = next(
            (flag for flag in found[1].split("/") if flag.startswith("--")), found[1]
        )
        if "expected" in found[2]:
            raise OptionError(
                f"{flag} needs a value ({flag}=VALUE if it begins with a dash)"
            )
        if "ignored explicit" in found[2]:
            raise OptionError(f"{flag} takes no value")
        raise OptionError(one_line(f"{flag}: {found[2]}"))


class _Collect(argparse.Action):
    """Notes what was given, in order."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse's signature
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        listed = [values] if isinstance(values, str) else values or []
        namespace.found.append((self.dest, tuple(map(str, listed))))


class Grammar:
    """The options of one torch, and ours.

    Args:
        table: torchrun's options.
    """

    def __init__(self, table: Table) -> None:
        self._torch = {option.dest: option for option in table.options}
        # Ours never shadow one of theirs, should a later torch have the same.
        taken = {flag for option in table.options for flag in _spellings(option)}
        own = [option for option in OWN if option.flag not in taken]
        self._options = {
            **self._torch,
            **{option.dest: option for option in (*own, HELP)},
        }
        self._flags = {
            flag: option.dest
            for option in self._options.values()
            for flag in _spellings(option)
            if flag.startswith("--")
        }

    def read(self, words: Sequence[str], level: Level) -> dict[str, Given]:
        """What *words* give, by name.

        Raises:
            OptionError: an option is not known, lacks its value, or a word is none.
            HelpRequested: help is among them.
        """
        if not _HELP.isdisjoint(words):
            raise HelpRequested(self.help())
        words = [self._canonical(word) for word in words]
        if not _HELP.isdisjoint(words):  # --he is short for it
            raise HelpRequested(self.help())
        namespace = argparse.Namespace(found=[])
        _, left = self._parser().parse_known_args(words, namespace)
        if left:
            raise OptionError(self._unexpected(left[0]))
        given: dict[str, Given] = {}
        for dest, values in namespace.found:
            before = given[dest].values if dest in given and dest in REPEATED else ()
            flag = self._options[dest].flag
            given[dest] = Given(
                dest=dest, flag=flag, values=(*before, *values), level=level
            )
        return given

    def from_environment(self, environ: Mapping[str, str]) -> dict[str, Given]:
        """The defaults that ``PET_`` variables set; an empty one sets none.

        Raises:
            OptionError: the variable of a switch is neither 0 nor 1.
        """
        given: dict[str, Given] = {}
        for option in self._torch.values():
            text = environ.get(option.variable, "") if option.variable else ""
            if not text:
                continue
            found = Given(
                dest=option.dest,
                flag=option.flag,
                values=(text,),
                level=Level.ENVIRONMENT,
                variable=option.variable,
            )
            if option.kind == "env":
                given[option.dest] = found
            elif found.whole_number(0):
                given[option.dest] = _switch(found)
        return given

    def help(self) -> str:
        """The whole help text, ours first."""
        return self._parser().format_help()

    def _parser(self) -> _Parser:
        parser = _Parser(
            prog="",
            usage=_USAGE,
            description=_INTRO,
            add_help=False,
            allow_abbrev=False,
        )
        groups = {
            title: parser.add_argument_group(title)
            for title in ("nbtune's options", "torchrun's options", "not in a cell")
        }
        for option in self._options.values():
            title = "nbtune's options"
            if option.dest in self._torch:
                refused = option.dest in NOT_IN_A_CELL
                title = "not in a cell" if refused else "torchrun's options"
            _add(groups[title], option)
        return parser

    def _canonical(self, word: str) -> str:
        """The word, an option's name spelt out with dashes."""
        if not word.startswith("--"):
            return word
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        dest = self._flags.get(name) or self._abbreviated(name, word)
        return self._options[dest].flag + equals + value

    def _abbreviated(self, name: str, word: str) -> str:
        found = {
            dest: None for flag, dest in self._flags.items() if flag.startswith(name)
        }
        if len(found) == 1 and name != "--":
            return next(iter(found))
        if found and name != "--":
            flags = _listed(self._options[dest].flag for dest in found)
            raise OptionError(f"{name} is short for several: {flags}")
        raise OptionError(self._unexpected(word))

    def _unexpected(self, word: str) -> str:
        shown = one_line(word)
        if word and word[0] in _DASHES:
            return f"{shown} begins with a typographic dash: write --"
        if word in {"-", "--"} or not word.startswith("-"):
            return (
                f"unexpected {shown!r}: a cell has no script and no arguments "
                f"(quote a value that contains blanks)"
            )
        name = shown.partition("=")[0].replace("_", "-")
        near = self._near(name)
        hint = f"did you mean {_listed(near, 'or')}?" if near else "-h lists all"
        return f"there is no option {name}: {hint}"

    def _near(self, name: str) -> list[str]:
        names = {flag.removeprefix("--"): flag for flag in self._flags}
        bare = name.lower().lstrip("-")
        near = difflib.get_close_matches(bare, names, n=3)
        words = {word for word in bare.split("-") if len(word) >= _SHORTEST}
        near += [n for n in names if words & set(n.split("-"))]
        flags = [self._options[self._flags[names[n]]].flag for n in near]
        return list(dict.fromkeys(flags))[:3]


def _switch(found: Given) -> Given:
    return Given(
        dest=found.dest, flag=found.flag, level=found.level, variable=found.variable
    )


def _spellings(option: TableOption) -> set[str]:
    return {flag.replace("_", "-") for flag in option.flags}


def _listed(flags: Iterable[str], word: str = "and") -> str:
    *first, last = flags
    return f"{', '.join(first)} {word} {last}" if first else last


def _add(group: argparse._ArgumentGroup, option: TableOption) -> None:
    text = option.help
    if option.default:
        text += f" (default: {option.default.replace('%', '%%')})"
    flags = sorted(_spellings(option) - {option.flag})
    metavar = option.metavar or option.flag.lstrip("-").replace("-", "_").upper()
    if option.choices:
        metavar = f"{{{','.join(option.choices)}}}"
    # Both spellings work; one of them in the help is enough.
    group.add_argument(
        *flags,
        option.flag,
        dest=option.dest,
        action=_Collect,
        nargs=option.nargs,
        help=text,
        metavar=None if option.nargs == 0 else metavar,
        default=argparse.SUPPRESS,
    )
