"""nbtune's own options, in the form in which torchrun's are described."""

from __future__ import annotations

from .table import TableOption

__all__ = ["HELP", "OWN", "REPEATED"]

HELP = TableOption(
    flags=("--help", "-h"), dest="help", help="show this text, start nothing", nargs=0
)
OWN = (
    TableOption(
        flags=("--out",),
        dest="out",
        metavar="NAMES",
        help="names to bring back when the cell has succeeded: a,b for rank 0's "
        "values, a@all for a list of every rank's, '*' for all that the cell "
        "assigned; may be repeated",
    ),
    TableOption(
        flags=("--env",),
        dest="env",
        metavar="NAME=VALUE",
        help="set an environment variable for this job; may be repeated",
    ),
    TableOption(
        flags=("--timeout",),
        dest="timeout",
        metavar="SECONDS",
        help="end the job if it runs longer than this",
    ),
    TableOption(
        flags=("--show-ranks",),
        dest="show_ranks",
        metavar="RANKS",
        help="whose output is shown: all, 0 or 0,2; files keep everything",
    ),
    TableOption(
        flags=("--name",), dest="name", metavar="TEXT", help="what to call the job"
    ),
    TableOption(
        flags=("--dry-run",),
        dest="dry_run",
        nargs=0,
        help="show the equivalent torchrun command and what would travel, start "
        "nothing",
    ),
)
REPEATED = frozenset({"out", "env"})
