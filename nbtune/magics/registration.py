"""``%load_ext nbtune`` and ``%unload_ext nbtune``; both may be repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .torchrun import TorchrunMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["register", "unregister"]


def register(shell: InteractiveShell) -> None:
    """Add the magics to *shell*."""
    shell.register_magics(TorchrunMagics)


def unregister(shell: InteractiveShell) -> None:
    """Take the magics away from *shell*."""
    for kind, names in TorchrunMagics.magics.items():
        for name in names:
            shell.magics_manager.magics[kind].pop(name, None)
