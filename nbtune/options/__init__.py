"""The options of a magic line: torchrun's own, from its parser, and ours.

Nothing here imports torch; what only torch knows is asked of it in a process of
its own, once for each installed torch.
"""

from .parse import Options, parse
from .parser import HelpRequested
from .table import Table, TableOption, load_table
from .words import join_continuation

__all__ = [
    "HelpRequested",
    "Options",
    "Table",
    "TableOption",
    "join_continuation",
    "load_table",
    "parse",
]
