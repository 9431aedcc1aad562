"""The launcher's process: forked here, handed to the launcher's own code."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, NoReturn

from .prctl import die_with_parent

if TYPE_CHECKING:
    from nbtune.record import JobDir

__all__ = ["fork_launcher", "reset_signals"]


def reset_signals() -> None:
    """Undo what a parent may hand on: ignored and blocked signals.

    With SIGCHLD ignored no exit code could be read, and ranks of a kernel under
    ``nohup`` or in a shell's background would not hear SIGHUP or SIGINT.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    python_ignores = {signal.SIGPIPE, signal.SIGXFSZ}
    for number in signal.valid_signals() - python_ignores:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def fork_launcher(folder: JobDir, module: str, *, done: int) -> int:
    """Start ``run(folder)`` of the module named *module* in a child.

    Args:
        folder: the job.
        module: where the launcher's ``run`` is, which returns an exit code.
        done: a descriptor that the child must not keep.

    Returns:
        The child's pid.
    """
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _detach(parent, done)
        code = importlib.import_module(module).run(folder)
    except SystemExit as error:
        code = _exit_code(error)
    except BaseException:  # noqa: BLE001  # the process ends here; the log has it
        traceback.print_exc()
    finally:
        _leave(code)


def _detach(parent: int, done: int) -> None:
    os.setsid()
    die_with_parent(parent)
    os.close(done)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # the lifeline is not the launcher's
    os.close(null)


def _exit_code(error: SystemExit) -> int:
    match error.code:
        case None:
            return 0
        case int(code):
            return code & 0xFF
        case text:
            print(text, file=sys.stderr)  # noqa: T201  # as Python does; it is the log
            return 1


def _leave(code: int) -> NoReturn:
    """End without the interpreter's shutdown, which is slow with torch in it."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
