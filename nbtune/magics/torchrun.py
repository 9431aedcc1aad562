"""``%%torchrun`` and ``%torchrun_defaults``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    cell_magic,
    line_magic,
    magics_class,
    no_var_expand,
)

from nbtune.errors import CaptureError, OptionError
from nbtune.job import read_options
from nbtune.options import HelpRequested, join_continuation
from nbtune.view import short_interrupt

from .cell import read_request, run_request

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtune.options import Options
    from nbtune.view import TextResult

__all__ = ["TorchrunMagics"]


@magics_class
class TorchrunMagics(Magics):
    """The magics of one notebook, with the defaults set in it."""

    defaults = ""

    @no_var_expand
    @cell_magic
    def torchrun(self, line: str, cell: str) -> TextResult | None:
        """Run the cell on every rank of a recorded elastic launch.

        ``%%torchrun --help`` lists torchrun's options and nbtune's own::

            %%torchrun --nproc_per_node 2 --out model,history
        """
        joined, body, lines = join_continuation(line, cell)
        header = "\n".join([f"%%torchrun {line}", *cell.splitlines()[: lines - 1]])
        try:
            with short_interrupt("stopped by you before the job started"):
                request = read_request(self._shell, body, header)
                options = self._read(joined, self.defaults)
            return None if options is None else run_request(request, options)
        except (OptionError, CaptureError) as error:
            raise UsageError(str(error)) from None

    @no_var_expand
    @line_magic
    def torchrun_defaults(self, line: str) -> None:
        """Set options for every ``%%torchrun`` of this notebook.

        Without options it shows them, ``--clear`` clears them::

            %torchrun_defaults --nproc_per_node 2
        """
        try:
            if line.strip() == "--clear":
                self.defaults = ""
            elif line.strip():
                self._read("", line)
                self.defaults = line
        except OptionError as error:
            raise UsageError(str(error)) from None
        if not line.strip():
            sys.stdout.write(f"{self.defaults or 'no defaults'}\n")

    @property
    def _shell(self) -> InteractiveShell:
        assert self.shell is not None  # noqa: S101 - magics are made by a shell
        return self.shell

    def _read(self, line: str, defaults: str) -> Options | None:
        namespace = self._shell.user_ns
        try:
            return read_options(line, namespace=namespace, defaults=defaults)
        except HelpRequested as help_requested:
            sys.stdout.write(help_requested.text)
            return None
