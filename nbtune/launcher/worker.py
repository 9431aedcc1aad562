"""The process of a rank, from its first line to its last."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import logging
import os
import signal
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, NoReturn, assert_never

from nbtune.payload import unpack
from nbtune.record import Call, Cell, JobDir, read_spec, write_json

from . import forking, streams
from .failing import RankPlace, record_failure, wait_for_peers
from .results import Assigned, write_results, write_shown, write_values
from .shell import make_shell, new_main
from .surroundings import prepare_rank, restore_torch_logs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from nbtune.payload import Unpacked
    from nbtune.record import LaunchSpec

    from .shell import RankShell

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1  # prctl(2)
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class PayloadError(Exception):
    """A captured value could not be loaded in this rank."""


def main(root: Path, before: Mapping[str, str | None]) -> None:
    """Run the job's entry in this rank; torch's agent calls it in a fork.

    Args:
        root: the job's folder.
        before: environment variables that the launcher changed for itself.
    """
    _own_process()
    restore_torch_logs()
    folder = JobDir(root)
    place = RankPlace.of_environment(folder)
    spec = read_spec(folder.spec)
    assert spec is not None  # noqa: S101 - the launcher has read it already
    folder.rank(place.rank).mkdir(parents=True, exist_ok=True)
    _report(place, "started")
    out = streams.open_streams()
    streams.close_stdin()
    # Not on stderr: below the user's frames it has dozens of torch's and ours.
    crash = place.folder.log(place.attempt, place.rank).crash.open("w")
    faulthandler.enable(crash)
    prepare_rank(spec, before)
    shell = make_shell(
        new_main(),
        colors=spec.entry.colors,
        interactivity=spec.entry.interactivity
        if isinstance(spec.entry, Cell)
        else "last_expr",
    )
    forking.install(shell.user_ns, folder.rank(place.rank) / "workers")
    with _polite_exit():
        _work(place, spec, shell, out)


def _work(
    place: RankPlace, spec: LaunchSpec, shell: RankShell, out: streams.Streams
) -> None:
    error = _run(place, spec, shell)
    if os.getpid() != place.pid:
        _leave_fork(out, error)
    if error is not None and not _is_polite(error):
        code = _fail(place, shell, error)
        _leave(out)
        wait_for_peers(place, spec.nproc)
        os._exit(code)
    _report(place, "finished")
    _tear_down()
    _leave(out)


@contextlib.contextmanager
def _polite_exit() -> Iterator[None]:
    """Let ``os._exit(0)`` in the user's code end the rank as ``sys.exit(0)`` does.

    torch's agent waits for ever for a rank that ends well without returning.
    """
    exit_at_once, own = os._exit, os.getpid()

    def leave(status: int) -> NoReturn:
        main = threading.current_thread() is threading.main_thread()
        if status == 0 and main and os.getpid() == own:
            raise SystemExit(0)
        exit_at_once(status)

    os._exit = leave
    try:
        yield
    finally:
        # The process itself ends with it.
        os._exit = exit_at_once


def _own_process() -> None:
    """Undo what fork and torch's agent left in this process."""
    if sys.platform == "linux":
        # On the rank's own main thread: torch's own call is tied to the thread
        # of the launcher that started the rank.
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    for number in _FORWARDED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit._clear()  # noqa: SLF001 - the launcher's handlers are not the rank's
    atexit.register(logging.shutdown)


def _report(place: RankPlace, state: str) -> None:
    status = {"state": state, "attempt": place.attempt, "pid": os.getpid()}
    write_json(place.folder.status(place.rank), status)


def _run(place: RankPlace, spec: LaunchSpec, shell: RankShell) -> BaseException | None:
    entry = spec.entry
    namespace = shell.user_ns
    try:
        loaded = unpack(place.folder.payload, namespace=namespace)
    except BaseException as error:  # noqa: BLE001 - user classes run while unpacking
        return PayloadError(f"the values could not be loaded: {error!r}")
    for name, reason in loaded.failures.items():
        return PayloadError(f"could not load `{name}`: {reason} ({sys.executable})")
    for file, number in loaded.numbers.items():
        shell.compile._filename_map[file] = number  # noqa: SLF001 - no public way to name a cell
    namespace.update(loaded.reached)
    match entry:
        case Cell():
            return _run_cell(place, entry, shell, loaded)
        case Call():
            return _run_call(place, shell, loaded)
        case _:
            assert_never(entry)


def _run_cell(
    place: RankPlace, cell: Cell, shell: RankShell, loaded: Unpacked
) -> BaseException | None:
    namespace = shell.user_ns
    # A dotted name stands for a module that only had to be imported.
    named = {
        name: value for name, value in loaded.values.items() if name.isidentifier()
    }
    namespace.update(named)
    shell.execution_count = cell.execution_count
    shell.compile.flags |= cell.future_flags
    assigned = Assigned(namespace)
    error = shell.run_source(cell.source)
    if os.getpid() != place.pid or (error is not None and not _is_polite(error)):
        return error
    wanted = cell.out_all
    if place.rank == 0:
        wanted += cell.out
        write_shown(place, shell)
    known = {kind: key for key, kind in loaded.classes.items()}
    write_results(place, wanted, assigned.names(), namespace, known)
    return error


def _run_call(
    place: RankPlace, shell: RankShell, loaded: Unpacked
) -> BaseException | None:
    function, args, kwargs = (loaded.values[key] for key in ("fn", "args", "kwargs"))
    box: dict[str, object] = {}

    def call() -> None:
        box["return"] = function(*args, **kwargs)  # type: ignore[operator,misc,arg-type] # the user's objects

    error = shell.run_call(call)
    if error is None and os.getpid() == place.pid:
        known = {kind: key for key, kind in loaded.classes.items()}
        left_out = write_values(place, box, shell.user_ns, known)
        report = {"missing": [], "left_out": left_out, "stayed": []}
        write_json(place.folder.results(place.rank) / "report.json", report)
    return error


def _fail(place: RankPlace, shell: RankShell, error: BaseException) -> int:
    """Write the records of a failure; return the exit code."""
    happened = time.time_ns()
    _report(place, "failing")
    code = record_failure(place, error, _rendered(shell, error), happened)
    _report(place, "failed")
    return code


def _is_polite(error: BaseException) -> bool:
    """``sys.exit(0)`` is success."""
    return isinstance(error, SystemExit) and error.code in (None, 0)


def _rendered(shell: RankShell, error: BaseException) -> str:
    try:
        return shell.render(error)
    except Exception as second:  # noqa: BLE001 - the user's __str__ and __repr__ run here
        return f"{type(error).__name__} (its traceback could not be made: {second!r})"


def _tear_down() -> None:
    """End what would abort or hang at exit; the cell's success is written already."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        # A gloo group left to the end of the process aborts it now and then.
        dist.destroy_process_group()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _leave_fork(out: streams.Streams, error: BaseException | None) -> NoReturn:
    """A child that the cell forked has come to the cell's end: it is no rank."""
    if error is not None:
        traceback.print_exception(error)
    _leave(out)
    os._exit(0 if error is None else 1)


def _leave(out: streams.Streams) -> None:
    """What the interpreter does at exit and a forked process does not."""
    atexit._run_exitfuncs()  # noqa: SLF001 - a forked process never gets there
    # On a full disk: the cell's own print has raised, an end must still be an end.
    with contextlib.suppress(OSError):
        out.flush()
