"""The time that a whole answer may take, and what of it a stage gets."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Budget:
    """What `--budget` leaves to the stages of a run.

    Args:
        seconds: for the whole answer; 0: as long as it needs.
        started: a reading of the `clock`, in seconds.
    """

    seconds: float = 0.0
    started: float = 0.0
    clock: Callable[[], float] = field(default=time.monotonic)

    @property
    def end(self) -> float | None:
        """When the whole answer is due, by the clock; None: when it is done."""
        return self.started + self.seconds if self.seconds else None

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self.clock() - self.started

    def limit(self, seconds: float, share: float = 1.0) -> float:
        """A limit in seconds, cut to a share of what is left of the budget; at least one second.

        Args:
            seconds: the limit without a budget.
            share: of the time that is left, from 0 to 1.
        """
        if self.end is None:
            return seconds
        return max(1.0, min(seconds, share * (self.end - self.clock())))
