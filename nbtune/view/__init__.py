"""What a job looks like while it runs: text, one line of a rank after the other."""

from .follow import TextResult, ended_on_error, follow, short_interrupt
from .plan import plan_text
from .text import TextView

__all__ = [
    "TextResult",
    "TextView",
    "ended_on_error",
    "follow",
    "plan_text",
    "short_interrupt",
]
