"""The values of options: what each must look like."""

from __future__ import annotations

import contextlib
import difflib
import errno
import keyword
import os
import re
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from nbtune.errors import OptionError

from .fill import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .given import Given
    from .table import TableOption

__all__ = [
    "LAST_PORT",
    "check_torch_value",
    "log_folder",
    "read_env",
    "read_out",
    "read_ranks",
    "read_timeout",
]

LAST_PORT = 65535
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STREAMS = re.compile(r"[0123]|\d:[0123](,\d:[0123])*", re.ASCII)
_RANK = re.compile(r"[0-9]{1,6}")
# What torch sets for each rank, and the option that says it.
_SET_BY_TORCH = {
    "RANK": "it is each rank's own",
    "LOCAL_RANK": "it is each rank's own",
    "WORLD_SIZE": "use --nproc-per-node",
    "LOCAL_WORLD_SIZE": "use --nproc-per-node",
    "MASTER_ADDR": "use --master-addr",
    "MASTER_PORT": "use --master-port",
}


def check_torch_value(given: Given, option: TableOption) -> None:
    """Check a value by its type and choices, and as torch checks it later.

    Raises:
        OptionError: torch would refuse it.
    """
    if option.nargs is not None:
        return
    if option.type == "int":
        given.whole_number(0)
    elif option.type == "float":
        given.number()
    if option.choices and given.value not in option.choices:
        near = difflib.get_close_matches(given.value, option.choices, n=1)
        hint = f", did you mean {near[0]}?" if near else ""
        raise given.wrong(f"it is one of {', '.join(option.choices)}{hint}")
    _check_form(given)


def _check_form(given: Given) -> None:
    match given.dest:
        case "redirects" | "tee" if not _STREAMS.fullmatch(given.value):
            raise given.wrong(
                "0 none, 1 stdout, 2 stderr, 3 both, or by local rank as in 0:3,1:2"
            )
        case "local_ranks_filter":
            _ranks(given)
        case "signals_to_handle":
            _check_signals(given)
        case "nnodes" | "node_rank" | "rdzv_conf" | "master_port":
            _check_place(given)
        case _:
            pass


def read_out(given: Given) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names to bring back from rank 0, and those from every rank.

    Raises:
        OptionError: what is listed is no name, or a name is listed both ways.
    """
    one: dict[str, None] = {}
    every: dict[str, None] = {}
    for text in _items(given):
        name, at, where = text.partition("@")
        if at and where != "all":
            raise given.wrong(f"after @ comes all, as in {name}@all")
        if not (name.isidentifier() and not keyword.iskeyword(name)) and text != "*":
            raise given.wrong(
                f"{one_line(text)!r} is not a name (write a,b or a@all or '*')"
            )
        (every if at else one)[name] = None
    if both := [name for name in one if name in every]:
        raise given.wrong(f"{both[0]} and {both[0]}@all: choose one")
    return tuple(one), tuple(every)


def read_env(values: Iterable[str]) -> dict[str, str]:
    """The variables to set.

    Raises:
        OptionError: not ``NAME=VALUE``, or a variable that torch sets itself.
    """
    env: dict[str, str] = {}
    for text in values:
        name, equals, value = text.partition("=")
        shown = f"--env {one_line(text)}"
        if not equals:
            raise OptionError(f"{shown}: write NAME=VALUE")
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            raise OptionError(
                f"{shown}: {one_line(name)!r} cannot name an environment variable"
            )
        if name in _SET_BY_TORCH:
            raise OptionError(f"{shown}: torchrun sets it, {_SET_BY_TORCH[name]}")
        if name.startswith("PET_"):
            raise OptionError(f"{shown}: write the option itself instead")
        env[name] = value
    return env


def read_timeout(given: Given) -> float:
    """Seconds after which the job is ended.

    Raises:
        OptionError: not a number above zero.
    """
    seconds = given.number()
    if not seconds:
        raise given.wrong("a number of seconds above zero is needed")
    return seconds


def read_ranks(given: Given, nproc: int) -> frozenset[int] | None:
    """The ranks whose output is shown, None for all.

    Raises:
        OptionError: not ``all`` or a list of the job's ranks.
    """
    if given.value.strip() == "all":
        return None
    ranks = _ranks(given)
    for rank in sorted(ranks):
        if rank >= nproc:
            has = "only rank 0" if nproc == 1 else f"ranks 0 to {nproc - 1}"
            raise given.wrong(f"there is no rank {rank}, the job has {has}")
    return ranks


def log_folder(given: Given) -> str:
    """The folder for logs, made absolute; ``""`` for ``/dev/null``.

    Nothing is left of the trial: the job makes the folder when it starts.

    Raises:
        OptionError: it cannot be made, or not be written.
    """
    path = Path(os.path.abspath(os.path.expanduser(given.value)))  # noqa: PTH100, PTH111 - Path.absolute keeps .., expanduser raises without a home
    if str(path) == os.devnull:
        return ""
    if not given.value:
        raise given.wrong("a folder is needed")
    try:
        _try_folder(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(
            f"{given.label}: {one_line(str(path))} cannot be written, {reason}"
        ) from error
    return str(path)


def _try_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    finally:
        for folder in missing:
            # Another job may have made it or put something in by now.
            with contextlib.suppress(OSError):
                folder.rmdir()


def _items(given: Given) -> list[str]:
    return [
        item.strip()
        for value in given.values
        if value.strip()
        for item in value.split(",")
    ]


def _ranks(given: Given) -> frozenset[int]:
    items = given.value.split(",")
    if not all(_RANK.fullmatch(item.strip()) for item in items):
        raise given.wrong("ranks are numbers, as in 0 or 0,2")
    return frozenset(map(int, items))


def _check_place(given: Given) -> None:
    match given.dest:
        case "nnodes" if given.value.replace(" ", "") not in {"1", "1:1"}:
            if re.fullmatch(r"\s*\d+\s*(:\s*\d+\s*)?", given.value):
                raise given.wrong(
                    "several machines are not supported yet, write --nnodes 1"
                )
            raise given.wrong("a number of machines is needed, and only 1 works")
        case "node_rank" if given.whole_number(0):
            raise given.wrong("one machine has node rank 0 only")
        case "master_port" if given.whole_number(0) > LAST_PORT:
            raise given.wrong(f"a port is a number from 0 to {LAST_PORT}")
        case "rdzv_conf" if given.value.strip():
            pairs = [pair.partition("=") for pair in given.value.split(",")]
            if not all(key.strip() and value.strip() for key, _, value in pairs):
                raise given.wrong("write KEY=VALUE,KEY=VALUE")
        case _:
            pass


def _check_signals(given: Given) -> None:
    known = {number.name for number in signal.Signals}
    for name in given.value.split(","):
        if name.strip() not in known:
            near = difflib.get_close_matches(name.strip().upper(), known, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            raise given.wrong(f"there is no signal {name.strip()!r}{hint}")
