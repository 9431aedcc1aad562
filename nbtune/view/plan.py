"""``--dry-run``: what a cell would start and send, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtune.options import Options
    from nbtune.payload import Packed

__all__ = ["plan_text"]

_UNITS = ("B", "kB", "MB", "GB", "TB")
_STEP = 1000


def plan_text(options: Options, packed: Packed) -> str:
    """The equivalent torchrun command, and what would travel, the largest first."""
    lines = [options.command(), *(f"using {note}" for note in options.notes)]
    total = sum(packed.sizes.values())
    lines.append(f"would send {_size(total)} to {options.nproc} ranks:")
    for name, size in sorted(packed.sizes.items(), key=lambda item: -item[1]):
        via = packed.reached.get(name, "")
        lines.append(f"  {name}  {_size(size)}{f'  (through {via})' if via else ''}")
    lines += packed.warnings
    return "\n".join([*lines, "nothing was started", ""])


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < _STEP:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= _STEP
    return f"{count:.1f} {_UNITS[-1]}"
