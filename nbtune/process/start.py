"""Starting the supervisor of a job, in a session of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nbtune.errors import LaunchError

from .running import Running

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtune.record import JobDir

__all__ = ["LAUNCHER", "start"]

LAUNCHER = "nbtune.launcher.main"
"""The module whose ``run`` the supervisor calls in the launcher's process."""

# Put on the path only where it is missing: what is installed next to nbtune must
# not come before the standard library. The words "nbtune.supervisor" in it tell
# what the process is.
_BOOTSTRAP = """\
import sys
home = sys.argv.pop(1)
if home not in sys.path:
    sys.path.insert(0, home)
from nbtune.supervisor import main
main()
"""

# A job goes on when its ``Running`` is let go; what is held for one that has
# ended is given back at the next start.
_started: set[Running] = set()


def start(
    folder: JobDir,
    *,
    executable: str,
    environ: Mapping[str, str],
    launcher: str = LAUNCHER,
) -> Running:
    """Start the job that ``folder.spec`` describes.

    The child is in a session of its own, so that neither an interrupt of a
    notebook nor one of a terminal reaches it.

    Args:
        folder: the job's folder; what the launcher says goes to a log in it.
        executable: the Python interpreter.
        environ: the whole environment of the job.
        launcher: name of the module with the launcher's ``run``.

    Returns:
        The running job.

    Raises:
        LaunchError: the interpreter or the log cannot be opened.
    """
    for running in list(_started):
        if running.wait(0):
            _started.discard(running)
    home = str(Path(__file__).absolute().parents[2])  # of the package nbtune
    command = [executable, *_interpreter_options(), "-c", _BOOTSTRAP, home]
    try:
        running = _start(folder, command, environ, launcher)
    except (OSError, ValueError) as error:
        raise LaunchError(f"cannot start the job: {error}") from error
    _started.add(running)
    return running


def _start(
    folder: JobDir, command: list[str], environ: Mapping[str, str], launcher: str
) -> Running:
    with contextlib.ExitStack() as lent, contextlib.ExitStack() as ends:
        log = os.open(
            folder.launcher_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode=0o600
        )
        lent.callback(os.close, log)
        orders, lifeline = os.pipe()
        lent.callback(os.close, orders)
        ends.callback(os.close, lifeline)
        done, finished = os.pipe()
        lent.callback(os.close, finished)
        ends.callback(os.close, done)
        # A supervisor that is stopped must not stop the kernel.
        os.set_blocking(lifeline, False)
        supervisor = subprocess.Popen(
            [*command, str(folder.root.absolute()), str(finished), launcher],
            stdin=orders,
            stdout=log,
            stderr=log,
            env=dict(environ),
            start_new_session=True,
            pass_fds=(finished,),
        )
        return Running(supervisor, lifeline=lifeline, done=done, ends=ends.pop_all())


def _interpreter_options() -> list[str]:
    """The options under which this interpreter runs, as far as they shape imports.

    ``-P`` is always among them: a file in the working directory must not take
    the place of a module of the standard library. UTF-8 mode is this process's,
    so that both sides read names of files alike whatever the locale says.
    """
    flags = sys.flags
    options = ["-P", "-X", f"utf8={flags.utf8_mode}"]
    if flags.ignore_environment:
        options.append("-E")
    if flags.no_user_site:
        options.append("-s")
    if flags.optimize:
        options.append("-" + "O" * flags.optimize)
    return options
