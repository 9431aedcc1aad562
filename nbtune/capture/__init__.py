"""What a cell takes along: its text, the names it uses, their values.

Nothing here knows IPython or torch; the shell's parts are passed in.
"""

from .cell import CellText, read_cell
from .stale import stale_modules
from .values import capture_call, capture_cell, size_line

__all__ = [
    "CellText",
    "capture_call",
    "capture_cell",
    "read_cell",
    "size_line",
    "stale_modules",
]
