"""What the kernel asks for: the spec of a job, as written to ``spec.json``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

from .files import read_json, write_json

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Call", "Cell", "LaunchSpec", "read_spec", "write_spec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A notebook cell, run by IPython in each rank.

    Attributes:
        source: Python text after IPython's transformations, with one line for
            each line of the magic before it, so that line numbers are the
            notebook's.
        execution_count: the number in the notebook's ``In[n]``.
        future_flags: ``from __future__`` flags that earlier cells switched on.
        out: names to bring back, rank 0's value; ``"*"`` for all assigned.
        out_all: names to bring back as a list by rank.
        interactivity: IPython's ``ast_node_interactivity``.
        colors: IPython's colour theme for tracebacks.
    """

    source: str
    execution_count: int = 0
    future_flags: int = 0
    out: tuple[str, ...] = ()
    out_all: tuple[str, ...] = ()
    interactivity: str = "last_expr"
    colors: str = "nocolor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """``function(*args, **kwargs)``, its three parts in the payload."""

    colors: str = "nocolor"


Entry = Cell | Call


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """One job.

    Attributes:
        entry: what each rank runs.
        argv: torchrun's options in torchrun's spelling, without a script.
        nproc: ranks on this node, resolved to a number.
        name: what the user calls the job.
        loopback_port: port for our own rendezvous on 127.0.0.1, 0 for a free
            one; None to let torch's backends use what *argv* names.
        cwd: working directory of the ranks.
        sys_path: the kernel's ``sys.path``, entries absolute.
        env: variables set with ``--env``, on top of the kernel's environment.
        user_error_file: the user's ``TORCHELASTIC_ERROR_FILE``, ``""`` if none.
        log_dir: the user's ``--log-dir``, ``""`` if none.
        timeout: seconds after which the job is ended; None for no limit.
        kernel_pid: the process that asked; its end is the job's end.
        warning_filters: ``warnings.filters`` of the kernel that can be written.
        log_level: level of the kernel's root logger.
    """

    entry: Entry
    argv: tuple[str, ...]
    nproc: int
    name: str = ""
    loopback_port: int | None = 0
    cwd: str = "."
    sys_path: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    user_error_file: str = ""
    log_dir: str = ""
    timeout: float | None = None
    kernel_pid: int = 0
    warning_filters: tuple[tuple[str, str, str, str, int], ...] = ()
    log_level: int = 0


def write_spec(path: Path, spec: LaunchSpec) -> None:
    """Write *spec* whole.

    Raises:
        OSError: the folder cannot be written.
    """
    entry = spec.entry
    match entry:
        case Cell():
            kind = "cell"
        case Call():
            kind = "call"
        case _:
            assert_never(entry)
    write_json(path, {**dataclasses.asdict(spec), "kind": kind})


def read_spec(path: Path) -> LaunchSpec | None:
    """Read a spec; None if it is missing or of another version."""
    data = read_json(path)
    if data is None:
        return None
    fields: dict[str, Any] = dict(data)
    entry: dict[str, Any] = dict(fields.pop("entry", {}))
    kind = fields.pop("kind", None)
    try:
        return LaunchSpec(
            entry=_read_cell(entry) if kind == "cell" else Call(**entry),
            argv=tuple(fields.pop("argv")),
            sys_path=tuple(fields.pop("sys_path")),
            warning_filters=tuple(tuple(f) for f in fields.pop("warning_filters")),
            **fields,
        )
    except (KeyError, TypeError):
        return None


def _read_cell(entry: dict[str, Any]) -> Cell:
    out, out_all = tuple(entry.pop("out")), tuple(entry.pop("out_all"))
    return Cell(out=out, out_all=out_all, **entry)
