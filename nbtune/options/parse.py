"""A magic line to the options of a job."""

from __future__ import annotations

import dataclasses
import functools
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbtune.errors import OptionError

from .given import Given, Level
from .nproc import count_ranks
from .parser import NOT_IN_A_CELL, Grammar
from .rendezvous import Rendezvous
from .values import (
    check_torch_value,
    log_folder,
    read_env,
    read_out,
    read_ranks,
    read_timeout,
)
from .words import split_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .table import Table

__all__ = ["Options", "parse"]

_SCRIPT = "cell.py"  # stands for the cell in the command line that is shown
_NPROC = "nproc_per_node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one job.

    Attributes:
        argv: torchrun's options in torchrun's spelling, without a script. Whole:
            defaults of the environment are among them, so that a reader leaves
            ``PET_`` variables aside.
        nproc: number of ranks.
        loopback_port: port for our own rendezvous on 127.0.0.1, 0 for a free one;
            None to let torch's backend use what *argv* names.
        max_restarts: how often the ranks are started again.
        out: names to bring back from rank 0; ``"*"`` for all assigned.
        out_all: names to bring back from every rank.
        env: environment variables to set.
        timeout: seconds after which the job is ended, None for no limit.
        show_ranks: ranks whose output is shown, None for all.
        name: what the user calls the job.
        dry_run: show what would be done, start nothing.
        log_dir: absolute folder for the logs, ``""`` if the user names none.
        notes: ``PET_`` variables that are in use, and those that are not.
    """

    argv: tuple[str, ...]
    nproc: int
    loopback_port: int | None = 0
    max_restarts: int = 0
    out: tuple[str, ...] = ()
    out_all: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    timeout: float | None = None
    show_ranks: frozenset[int] | None = None
    name: str = ""
    dry_run: bool = False
    log_dir: str = ""
    notes: tuple[str, ...] = ()

    def command(self) -> str:
        """The command line that does the same in a terminal."""
        pairs = [f"{name}={shlex.quote(value)}" for name, value in self.env.items()]
        free: tuple[str, ...] = ()
        if self.loopback_port == 0:
            # --standalone overrides an id that the user named.
            named = "--rdzv-id" in self.argv
            free = ("--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0")
            free = free if named else ("--standalone",)
        return " ".join([*pairs, shlex.join(["torchrun", *free, *self.argv, _SCRIPT])])


def parse(
    line: str,
    *,
    table: Table,
    namespace: Mapping[str, object],
    environ: Mapping[str, str],
    defaults: str = "",
) -> Options:
    """Read a magic line.

    Args:
        line: what follows the magic's name, continuation lines joined.
        table: the options of the installed torchrun.
        namespace: the notebook's names, for placeholders.
        environ: the kernel's environment, for ``$NAME`` and ``PET_`` defaults.
        defaults: a line whose options count where *line* has none.

    Raises:
        OptionError: anything is wrong with it, in one line.
        HelpRequested: it asks for help.
    """
    grammar = _grammar(table)
    given = _read(grammar, line, Level.LINE, namespace, environ)
    below = _read(grammar, defaults, Level.DEFAULTS, namespace, environ)
    pairs = [*_values(below, "env"), *_values(given, "env")]
    given = {**grammar.from_environment(environ), **below, **given}
    notes = _refuse_scripts(given)
    for option in table.options:
        if option.dest in given:
            check_torch_value(given[option.dest], option)
    nproc = _count(given, table, environ)
    own = _read_own(given, nproc)
    env = read_env(pairs)
    rendezvous = Rendezvous(given, table.backends)
    port = rendezvous.settle()
    given = rendezvous.given
    log_dir = log_folder(given["log_dir"]) if "log_dir" in given else ""
    used = [entry.shown for entry in given.values() if entry.variable]
    spelt = {_NPROC: str(nproc), **({"log_dir": log_dir} if "log_dir" in given else {})}
    return dataclasses.replace(
        own,
        argv=_argv(given, table, spelt),
        loopback_port=port,
        env=env,
        log_dir=log_dir,
        notes=(*used, *notes, *rendezvous.notes),
    )


@functools.lru_cache(maxsize=4)
def _grammar(table: Table) -> Grammar:
    return Grammar(table)


def _read(
    grammar: Grammar,
    line: str,
    level: Level,
    namespace: Mapping[str, object],
    environ: Mapping[str, str],
) -> dict[str, Given]:
    try:
        words = split_words(line, namespace=namespace, environ=environ)
        return grammar.read(words, level)
    except OptionError as error:
        if level is Level.LINE:
            raise
        raise OptionError(f"{error} (in %torchrun_defaults)") from error


def _values(given: Mapping[str, Given], dest: str) -> tuple[str, ...]:
    return given[dest].values if dest in given else ()


def _refuse_scripts(given: dict[str, Given]) -> list[str]:
    """Take out what is no use to a cell.

    Raises:
        OptionError: the user named it; a variable of the environment is let be.
    """
    notes = []
    for dest in sorted(NOT_IN_A_CELL & given.keys()):
        found = given.pop(dest)
        if found.level is not Level.ENVIRONMENT:
            raise found.wrong("a cell cannot use it, the cell itself is what runs")
        notes.append(f"{found.shown} is not used: a cell has no script")
    return notes


def _count(given: Mapping[str, Given], table: Table, environ: Mapping[str, str]) -> int:
    default = Given(dest=_NPROC, flag=_NPROC, values=("1",), level=Level.TORCH)
    found = given.get(_NPROC, default)
    return count_ranks(found, executable=table.executable, environ=environ)


def _read_own(given: Mapping[str, Given], nproc: int) -> Options:
    out, out_all = read_out(given["out"]) if "out" in given else ((), ())
    restarts = given.get("max_restarts")
    timeout, show = given.get("timeout"), given.get("show_ranks")
    return Options(
        argv=(),
        nproc=nproc,
        max_restarts=restarts.whole_number(0) if restarts else 0,
        out=out,
        out_all=out_all,
        timeout=read_timeout(timeout) if timeout else None,
        show_ranks=read_ranks(show, nproc) if show else None,
        name=given["name"].value.strip() if "name" in given else "",
        dry_run="dry_run" in given,
    )


def _argv(
    given: Mapping[str, Given], table: Table, spelt: Mapping[str, str]
) -> tuple[str, ...]:
    """The options in torch's order; those in *spelt* with the value found for them."""
    words: list[str] = []
    for option in table.options:
        dest = option.dest
        if spelt.get(dest):
            words += (option.flag, spelt[dest])
        elif dest in given and dest not in spelt:
            words += given[dest].argv
    return tuple(words)
