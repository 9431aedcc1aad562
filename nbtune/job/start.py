"""From a cell or a function to a running job."""

from __future__ import annotations

import errno
import logging
import os
import shlex
import shutil
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtune.capture import capture_call, capture_cell
from nbtune.errors import CaptureError, OptionError
from nbtune.options import load_table, parse
from nbtune.process import start
from nbtune.record import Call, Cell, LaunchSpec, write_spec

from .handle import Job
from .home import Home

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from nbtune.capture import CellText
    from nbtune.options import Options
    from nbtune.payload import Packed
    from nbtune.process import Running
    from nbtune.record import JobDir

__all__ = ["CellRequest", "launch", "pack_cell", "read_options", "start_cell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRequest:
    """A cell and the shell around it.

    Attributes:
        text: the cell, read.
        namespace: the notebook's names.
        hidden: IPython's own names, which never travel.
        numbers: ``In[n]`` by file name, for tracebacks into earlier cells.
        execution_count: number of this cell.
        future_flags: ``from __future__`` flags of the notebook.
        interactivity: IPython's ``ast_node_interactivity``.
        colors: IPython's colour theme.
    """

    text: CellText
    namespace: dict[str, object]
    hidden: Mapping[str, object]
    numbers: Mapping[str, int]
    execution_count: int
    future_flags: int
    interactivity: str
    colors: str


def read_options(
    line: str, *, namespace: Mapping[str, object], defaults: str = ""
) -> Options:
    """Parse a magic line in this kernel's surroundings.

    Raises:
        OptionError: the line is wrong.
        HelpRequested: it asks for help.
    """
    table = load_table(Home.of_environment(os.environ).cache, sys.executable)
    return parse(
        line,
        table=table,
        namespace=namespace,
        environ=os.environ,
        defaults=defaults,
    )


def pack_cell(request: CellRequest, folder: Path | None) -> Packed:
    """Pack what the cell needs; None for *folder* only measures.

    Raises:
        CaptureError: values that cannot travel.
    """
    return capture_cell(
        request.text,
        folder,
        namespace=request.namespace,
        hidden=request.hidden,
        numbers=request.numbers,
    )


def start_cell(request: CellRequest, options: Options) -> tuple[Job, Packed]:
    """Pack, write the folder, start the job.

    Raises:
        CaptureError: values that cannot travel, or no room for them.
        LaunchError: the interpreter cannot be started.
    """
    entry = Cell(
        source=request.text.source,
        execution_count=request.execution_count,
        future_flags=request.future_flags,
        out=options.out,
        out_all=options.out_all,
        interactivity=request.interactivity,
        colors=request.colors,
    )

    def pack(folder: Path | None) -> Packed:
        return pack_cell(request, folder)

    return _start(entry, options, pack, request.namespace)


def launch(
    fn: Callable[..., object],
    *args: object,
    nproc_per_node: int | str = 2,
    **options: object,
) -> Job:
    """Run ``fn(*args)`` on every rank, in the background.

    The job ends with this process at the latest.

    Args:
        fn: any callable; what it uses of the notebook travels with it.
        args: its positional arguments.
        nproc_per_node: ranks to start, a number or torchrun's words for one.
        options: torchrun's and nbtune's options with underscores, for instance
            ``max_restarts=1``, ``env={"A": "1"}``, ``timeout=60``, ``name="try"``.

    Returns:
        The running job; ``result()`` waits for rank 0's return value.

    Raises:
        OptionError: an option is wrong.
        CaptureError: a value cannot travel.
    """
    if not callable(fn):
        raise OptionError(f"launch needs a function, not a {type(fn).__name__}")
    refused = {"dry_run", "help", "out", "show_ranks"} & options.keys()
    if refused:
        raise OptionError(f"launch has no option {refused.pop()}: it is for cells")
    namespace = sys.modules["__main__"].__dict__
    words = _words({"nproc_per_node": nproc_per_node, **options})
    parsed = read_options(words, namespace=namespace)

    def pack(folder: Path | None) -> Packed:
        return capture_call(fn, args, {}, folder, namespace=namespace)

    return _start(Call(), parsed, pack, namespace)[0]


def _start(
    entry: Cell | Call,
    options: Options,
    pack: Callable[[Path | None], Packed],
    namespace: dict[str, object],
) -> tuple[Job, Packed]:
    home = Home.of_environment(os.environ)
    home.prune()
    folder = home.new_job()
    running: Running | None = None
    try:
        packed = _pack(folder, pack)
        _link_logs(folder, options)
        environ = {**os.environ, **options.env}
        write_spec(folder.spec, _spec(entry, options, environ))
        running = start(folder, executable=sys.executable, environ=environ)
        classes = packed.classes
        job = Job(folder, running=running, namespace=namespace, classes=classes)
    except BaseException:
        if running is not None:
            running.interrupt("K")
            running.wait()
        shutil.rmtree(folder.root, ignore_errors=True)
        raise
    return job, packed


def _pack(folder: JobDir, pack: Callable[[Path | None], Packed]) -> Packed:
    try:
        folder.payload.mkdir(mode=0o700)
        return pack(folder.payload)
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        # Before the sizes are counted, which takes a moment.
        shutil.rmtree(folder.root, ignore_errors=True)
        size = sum(pack(None).sizes.values()) / 1e6
        raise CaptureError(
            f"no space left in {folder.root.parent} for the payload ({size:.1f} MB); "
            "set NBTUNE_HOME to a folder with more room"
        ) from error


def _link_logs(folder: JobDir, options: Options) -> None:
    """Let the logs lie where ``--log-dir`` says, with the job's id for a name."""
    if options.log_dir:
        target = os.path.join(options.log_dir, folder.id)  # noqa: PTH118 - a str option
        try:
            os.makedirs(target, 0o700)  # noqa: PTH103 - the same
        except OSError as error:
            raise OptionError(
                f"--log-dir: {target} cannot be made, {error.strerror}"
            ) from error
        folder.logs.symlink_to(target)


def _spec(
    entry: Cell | Call, options: Options, environ: Mapping[str, str]
) -> LaunchSpec:
    error_file = environ.get("TORCHELASTIC_ERROR_FILE", "")
    root = logging.getLogger()
    return LaunchSpec(
        entry=entry,
        argv=options.argv,
        nproc=options.nproc,
        name=options.name,
        loopback_port=options.loopback_port,
        cwd=_working_folder(),
        sys_path=tuple(os.path.abspath(entry) for entry in sys.path),  # noqa: PTH100 - the same
        env=dict(options.env),
        user_error_file=os.path.abspath(error_file) if error_file else "",  # noqa: PTH100 - the same
        log_dir=options.log_dir,
        timeout=options.timeout,
        kernel_pid=os.getpid(),
        warning_filters=_warning_filters(),
        log_level=root.level if root.handlers else 0,
    )


def _working_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a str for JSON
    except FileNotFoundError as error:
        raise OptionError(
            "the working directory is gone; change to another one with %cd"
        ) from error


def _warning_filters() -> tuple[tuple[str, str, str, str, int], ...]:
    return tuple(
        (
            action,
            _pattern(message),
            f"{category.__module__}.{category.__qualname__}",
            _pattern(module),
            line,
        )
        for action, message, category, module, line in warnings.filters
        if isinstance(category, type)
    )


def _pattern(regex: object) -> str:
    """Text of a filter's regular expression; None stands for any text."""
    return str(getattr(regex, "pattern", regex or ""))


def _words(options: Mapping[str, object]) -> str:
    """Keyword options as a magic line; single quotes keep all but plain words."""
    words: list[str] = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        match value:
            case None | False:
                pass
            case True:
                words.append(flag)
            case dict():
                words += [f"{flag}={key}={text}" for key, text in value.items()]
            case _:
                words.append(f"{flag}={value}")
    return shlex.join(words)
