"""IPython in a rank: the cell runs as it would in the notebook."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

# The unused ones are imported when a shell is made: once, not in every rank.
from IPython.core import (
    application,  # noqa: F401
    completer,  # noqa: F401
    completerlib,  # noqa: F401
    interactiveshell,
    oinspect,  # noqa: F401
)
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["RankShell", "make_shell", "new_main"]

_SHELL_FILE = interactiveshell.__file__
_PACKAGE = f"{Path(__file__).parent.parent}{os.sep}"


class _Publisher(DisplayPublisher):
    """``display(obj)``: the text form, on the rank's stdout."""

    def publish(
        self,
        data: Mapping[str, object],
        *_: object,
        **__: object,
    ) -> None:
        text = data.get("text/plain")
        if text is not None:
            sys.stdout.write(f"{text}\n")


class _Hook(DisplayHook):
    """The last expression's value: kept as text, not printed."""

    @property
    def _rank_shell(self) -> RankShell:
        assert isinstance(self.shell, RankShell)  # noqa: S101 - narrows traitlets' Any
        return self.shell

    def quiet(self) -> bool:
        """Whether the cell ends in ``;``."""
        source = self._rank_shell.cell_source
        return bool(source) and self.semicolon_at_end_of_expression(source)

    def write_output_prompt(self) -> None:
        """No ``Out[n]:``; the notebook writes it."""

    def write_format_data(
        self,
        format_dict: Mapping[str, object],
        md_dict: Mapping[str, object] | None = None,  # noqa: ARG002 - IPython's own
    ) -> None:
        self._rank_shell.shown.append(str(format_dict.get("text/plain", "")))

    def log_output(self, format_dict: Mapping[str, object]) -> None:
        """No history in a rank."""

    def finish_displayhook(self) -> None:
        self._is_active = False


class RankShell(InteractiveShell):
    """A shell without terminal, history, profile folder or printed tracebacks."""

    displayhook_class = Type(_Hook)
    display_pub_class = Type(_Publisher)

    cell_source = ""
    _depth = 0

    def __init__(self, **kwargs: object) -> None:
        self.shown: list[str] = []
        super().__init__(**kwargs)

    def init_ipython_dir(self, ipython_dir: object) -> None:
        """No folder of our own in the user's home."""

    def init_profile_dir(self, profile_dir: object) -> None:
        """No folder of our own in the user's home."""

    def init_virtualenv(self) -> None:
        """The interpreter is the kernel's already."""

    def ask_exit(self) -> None:
        """``exit()`` in a cell ends the rank politely."""
        raise SystemExit(0)

    def atexit_operations(self) -> None:
        """Nothing to save; clearing the namespace would only take time."""

    @contextlib.contextmanager
    def _tee(self, channel: str) -> Iterator[None]:
        """Let the streams be: IPython keeps all that a cell writes in memory.

        It does so with a function of its own around every single write, which
        makes printing many times slower.
        """
        del channel
        yield

    async def run_code(
        self, code_obj: object, result: object = None, *, async_: bool = False
    ) -> bool:
        """Count how deep we are: a cell may run cells."""
        self._depth += 1
        try:
            return bool(await super().run_code(code_obj, result, async_=async_))
        finally:
            self._depth -= 1

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - IPython's
        """Print nested ones alone: the cell's own error is recorded instead."""
        of_cell = {"running_compiled_code", "exception_only"} & kwargs.keys()
        if self._depth > 1 or not of_cell:
            super().showtraceback(*args, **kwargs)

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - IPython's
        """As ``showtraceback``."""
        if self._depth > 0:
            super().showsyntaxerror(*args, **kwargs)

    def run_source(self, source: str) -> BaseException | None:
        """Run transformed source; return what it raised."""
        self.cell_source = source
        result = self.run_cell(source, store_history=False)
        error: BaseException | None = result.error_before_exec or result.error_in_exec
        return error

    def run_call(self, function: Callable[[], object]) -> BaseException | None:
        """Call *function* with IPython's builtins; return what it raised."""
        with self.builtin_trap:
            try:
                function()
            except BaseException as error:  # noqa: BLE001 - the caller records it
                return error
        return None

    def render(self, error: BaseException) -> str:
        """A traceback as IPython shows it, without frames of the shell and ours."""
        tb = _without_ours(error.__traceback__)
        _name_cells(tb)
        if tb is None:
            syntax: Any = self.SyntaxTB  # its annotations do not fit its use
            lines = syntax.structured_traceback(type(error), error, [])
        elif _in_groups(error):
            import traceback

            lines = traceback.format_exception(type(error), error, tb)
        else:
            lines = self.InteractiveTB.structured_traceback(
                type(error), error, tb, tb_offset=0
            )
        return "\n".join(lines)


def _is_ours(filename: str) -> bool:
    """Whether a frame belongs to the shell or to this package."""
    return filename == _SHELL_FILE or filename.startswith(_PACKAGE)


def _without_ours(tb: types.TracebackType | None) -> types.TracebackType | None:
    kept = []
    while tb is not None:
        if not _is_ours(tb.tb_frame.f_code.co_filename):
            kept.append(tb)
        tb = tb.tb_next
    for one, following in itertools.pairwise([*kept, None]):
        if one is not None:
            one.tb_next = following
    return kept[0] if kept else None


def _name_cells(tb: types.TracebackType | None) -> None:
    """Tell ``inspect`` that cells belong to ``__main__``.

    For a file that it does not know it looks through all modules, once for each
    frame, and with torch there are thousands.
    """
    while tb is not None:
        frame = tb.tb_frame
        file = frame.f_code.co_filename
        if frame.f_globals.get("__name__") == "__main__":
            inspect.modulesbyfile.setdefault(os.path.normcase(file), "__main__")
            inspect.modulesbyfile.setdefault(os.path.abspath(file), "__main__")  # noqa: PTH100 - inspect's own key
        tb = tb.tb_next


def _in_groups(error: BaseException | None) -> bool:
    """IPython's own renderer does not know exception groups yet."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, BaseExceptionGroup):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def new_main() -> types.ModuleType:
    """A true ``__main__`` without file or spec, as a notebook's.

    ``multiprocessing`` looks for both to import the main module again in a
    spawned child; without them it does not try.
    """
    main = types.ModuleType("__main__", "Created by nbtune in a rank.")
    sys.modules["__main__"] = main
    return main


def make_shell(main: types.ModuleType, *, colors: str, interactivity: str) -> RankShell:
    """Create the shell of this rank; ``get_ipython()`` finds it."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = colors
    config.InteractiveShell.ast_node_interactivity = interactivity
    config.InteractiveShell.automagic = False
    shell: Any = RankShell.instance(
        config=config, user_module=main, user_ns=main.__dict__
    )
    os.environ.setdefault("PAGER", "cat")
    assert isinstance(shell, RankShell)  # noqa: S101 - narrows IPython's Any
    return shell
