"""The steps by which a job is brought to its end, and the waits between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["COMMANDS", "WAITS", "Ladder", "Step"]


class Step(IntEnum):
    """How far the end of a job has come; a job only ever goes up."""

    RUN = 0
    INTERRUPT = 1
    """SIGINT to the launcher, whose agent hands it to the ranks."""
    TERMINATE = 2
    """SIGTERM to every process below the launcher."""
    KILL = 3
    """SIGKILL to every process below the launcher."""
    ABANDON = 4
    """SIGKILL to the launcher itself; what is left then is swept."""


COMMANDS = {"I": Step.INTERRUPT, "T": Step.TERMINATE, "K": Step.KILL}
"""What the kernel writes into the lifeline, one letter a step."""

WAITS = {Step.INTERRUPT: 2.0, Step.TERMINATE: 2.0, Step.KILL: 2.0}
"""Seconds that a step is given before the next one begins."""


@dataclass(slots=True)
class Ladder:
    """Where a job stands on the way to its end.

    Attributes:
        step: the step it is at.
        due: the moment at which the next step begins by itself, on the clock
            that the caller uses; None for never. While the job runs, that is
            the end of its ``--timeout``.
    """

    step: Step = Step.RUN
    due: float | None = None

    def climb(self, step: Step, now: float) -> bool:
        """Go up to *step*; False if the job is that far already."""
        if step <= self.step:
            return False
        self.step = step
        wait = WAITS.get(step)
        self.due = None if wait is None else now + wait
        return True

    def following(self) -> Step:
        """The step that begins when ``due`` has come."""
        return Step(self.step + 1)
