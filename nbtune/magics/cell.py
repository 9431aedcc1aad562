"""One ``%%torchrun`` cell: read it, start it, follow it, bind what comes back."""

from __future__ import annotations
import __future__

import sys
from typing import TYPE_CHECKING, Any

from nbtune.capture import read_cell, size_line, stale_modules
from nbtune.errors import CellSyntaxError
from nbtune.job import (
    CellRequest,
    bind_results,
    pack_cell,
    shown_text,
    start_cell,
)
from nbtune.view import (
    TextResult,
    TextView,
    ended_on_error,
    follow,
    plan_text,
    short_interrupt,
)

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtune.options import Options
    from nbtune.payload import Packed

__all__ = ["read_request", "run_request"]

_FUTURE_FLAGS = 0
for _feature in __future__.all_feature_names:
    _FUTURE_FLAGS |= getattr(__future__, _feature).compiler_flag


def read_request(shell: InteractiveShell, body: str, header: str) -> CellRequest:
    """Read the cell with the shell's own transformations.

    Args:
        shell: the notebook's.
        body: the cell below the magic's lines.
        header: the magic's own lines, the first one first.

    Raises:
        CellSyntaxError: it does not compile.
    """
    flags = shell.compile.flags & _FUTURE_FLAGS
    # IPython 9 has counted the running cell already, IPython 8 has not.
    number = shell.displayhook.prompt_count
    try:
        text = read_cell(
            body,
            header=header,
            transform=shell.transform_cell,
            flags=flags,
            filename=f"Cell In[{number}]",
        )
    except SyntaxError as error:
        # A file name that IPython shows as ``Cell In[n]``.
        error.filename = shell.compile.cache(f"{header}\n{body}", number)
        syntax: Any = shell.SyntaxTB  # its annotations do not fit its use
        lines = syntax.structured_traceback(type(error), error, [])
        raise CellSyntaxError(error, lines) from None
    return CellRequest(
        text=text,
        namespace=shell.user_ns,
        hidden=shell.user_ns_hidden,
        numbers=dict(shell.compile._filename_map),  # noqa: SLF001 - no public way to ask
        execution_count=number,
        future_flags=flags,
        interactivity=shell.ast_node_interactivity,
        colors=shell.colors,
    )


def run_request(request: CellRequest, options: Options) -> TextResult | None:
    """Run a cell to its end.

    Returns:
        What the last expression shows on rank 0, if anything.

    Raises:
        CaptureError: a value cannot travel; nothing was started.
        JobError: the job did not succeed.
        KeyboardInterrupt: the user stopped it.
    """
    if options.dry_run:
        sys.stdout.write(plan_text(options, pack_cell(request, None)))
        return None
    with short_interrupt("stopped by you before the job started"):
        job, packed = start_cell(request, options)
    with ended_on_error(job):
        for note in _notes(options, packed):
            sys.stdout.write(f"nbtune: {note}\n")
        show = options.show_ranks
        view = TextView(job.folder, show=show, out=sys.stdout, err=sys.stderr)
        follow(job, view)
    error = job.exception()
    if error is not None:
        raise error
    with short_interrupt("stopped by you while results were loaded"):
        lines = bind_results(job, request.namespace, request.hidden)
    for line in lines:
        sys.stdout.write(f"{line}\n")
    text = shown_text(job)
    return TextResult(text) if text else None


def _notes(options: Options, packed: Packed) -> list[str]:
    """What to say before the first line of a rank."""
    size = size_line(packed)
    notes = [f"using {note}" for note in options.notes]
    notes += [*([size] if size else []), *packed.warnings]
    return notes + stale_modules(packed.modules)
