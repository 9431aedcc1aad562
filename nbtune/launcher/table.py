"""What only torch knows about torchrun's options, as JSON on standard output.

``python -m nbtune.launcher.table`` writes the options of the installed torchrun;
``python -m nbtune.launcher.table gpu`` the number of ranks that torch makes of
``--nproc-per-node gpu``. Run by the kernel, which imports no torch itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from torch.distributed import run
from torch.distributed.argparse_util import check_env, env
from torch.distributed.elastic.events import handlers
from torch.distributed.elastic.rendezvous import rendezvous_handler_registry

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["count_ranks", "main", "read_options"]


def read_options() -> dict[str, object]:
    """Torchrun's options and the names of its rendezvous backends."""
    options = [
        _describe(action)
        for action in _actions(run.get_args_parser())
        if action.option_strings and action.dest != "help"
    ]
    return {"options": options, "backends": _backends()}


def count_ranks(word: str) -> dict[str, object]:
    """What torchrun makes of ``--nproc-per-node`` *word* on this machine."""
    try:
        return {"count": run.determine_local_world_size(word)}
    except ValueError as error:
        return {"error": str(error)}


def main(words: list[str]) -> None:
    """Write one line of JSON, the last line of standard output."""
    answer = count_ranks(words[0]) if words else read_options()
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    # argparse has no public way to list what was added to a parser.
    return parser._actions  # noqa: SLF001


def _backends() -> list[str]:
    # The registries have no public way to list their names, and a later torch may
    # keep them elsewhere: then none is known and every name is let through.
    return sorted(getattr(rendezvous_handler_registry, "_registry", {}))


def _choices(action: argparse.Action) -> list[str] | None:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    if action.dest == "event_log_handler":
        return sorted(getattr(handlers, "_log_handlers", {})) or None
    return None


def _describe(action: argparse.Action) -> dict[str, object]:
    return {
        "flags": list(action.option_strings),
        "dest": action.dest,
        "kind": _kind(action),
        "type": getattr(action.type, "__name__", "str"),
        "default": _plain(action.default),
        "choices": _choices(action),
        "help": action.help or "",
        "nargs": action.nargs,
    }


def _kind(action: argparse.Action) -> str:
    if isinstance(action, env):
        return "env"
    if isinstance(action, check_env):
        return "check_env"
    return "flag" if action.nargs == 0 else "store"


def _plain(default: object) -> str | None:
    # An empty list and a switch that is off are no defaults worth a word.
    return (
        None if default is None or default is False or default == [] else str(default)
    )


if __name__ == "__main__":
    main(sys.argv[1:])
