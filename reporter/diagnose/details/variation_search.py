"""Asking many variations within a time limit, and finding the application that brings a bug.

Which questions are asked depends on the answers alone; a question whose answer nobody can judge is
stepped over, and one that time does not allow is `None`, never guessed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace

from reporter.diagnose.details.experiment import Experiment, Trial, Variation

#: How many applications are tried before the search gives up on a process that dies before it could
#: be counted.
_MOST = 1 << 14
#: Rounds without progress, all of whose answers nobody could judge.
_PATIENCE = 6


class Runner:
    """Runs variations, at most `jobs` at a time and none after the deadline of `clock`; each
    variation once.
    """

    def __init__(
        self,
        experiment: Experiment,
        jobs: int,
        deadline: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.experiment = experiment
        self.jobs = max(1, jobs)
        self.deadline = deadline
        self.clock = clock
        self.runs = 0
        self.measured = 0.0
        self._known: dict[Variation, Trial] = {}

    def run(
        self, variations: Sequence[Variation], deadline: float | None = None
    ) -> list[Trial | None]:
        """The trials of variations, in order; None where time ran out.

        Args:
            variations: those that differ by their names alone run once.
            deadline: an earlier one than the runner's own, in seconds of `clock`.
        """
        limit = min(self.deadline, deadline or self.deadline)
        keys = [replace(variation, name="") for variation in variations]
        waiting = [key for key in dict.fromkeys(keys) if key not in self._known]
        flying: dict[Future[Trial], Variation] = {}
        while waiting or flying:
            left = limit - self.clock()
            while waiting and left > 0 and len(flying) < self.jobs:
                key = waiting.pop(0)
                flying[self.experiment(key)] = key
                self.runs += 1
            done = wait(flying, max(0.0, left), FIRST_COMPLETED).done if flying else set()
            for future in done:
                trial = self._known[flying.pop(future)] = future.result()
                self.measured += trial.seconds
            if left <= 0:
                for future in flying:
                    future.cancel()
                break
        return [self._known.get(key) for key in keys]


@dataclass(frozen=True)
class LocatedApplication:
    """The application that brings the bug: there with `number` applied, gone with one less if
    `exact`.

    `below` is the trial with one less: it names the application, and unlike the one with it never
    dies.
    """

    number: int | None
    exact: bool
    below: Trial | None = None


#: The trials with so many applications each.
Ask = Callable[[Sequence[int]], "list[Trial | None]"]


def locate(ask: Ask, total: int | None, jobs: int) -> LocatedApplication:
    """The number of the first application that brings a bug which is gone without any and there
    with all.

    Args:
        ask: the trials with so many applications each; None for one that there was no time for.
        total: how many applications there are; None: not known, so the number is doubled until the
            bug is there.
        jobs: trials that run side by side.

    Returns:
        A `number` of None where doubling came to its limit, or to the end of the time, without the
        bug.
    """
    low, high = (0, total) if total is not None else _gallop(ask)
    if high is None:
        return LocatedApplication(None, False)
    complete = True
    bad: set[int] = set()
    idle = 0
    while complete and high - low > 1 and idle < _PATIENCE:
        points = _spread([one for one in range(low + 1, high) if one not in bad], jobs)
        if not points:
            break
        before = (low, high)
        for point, trial in zip(points, ask(points), strict=True):
            if trial is None:
                complete = False
            elif trial.bug is None:
                bad.add(point)
            elif trial.bug:
                high = min(high, point)
            elif point < high:
                low = max(low, point)
        idle = idle + 1 if (low, high) == before else 0
    last, below = ask([high])[0], ask([low])[0]
    exact = high - low == 1 and last is not None and bool(last.bug)
    return LocatedApplication(high, exact, below)


def _gallop(ask: Ask) -> tuple[int, int | None]:
    """Doubles the number of applications until the bug is there.

    Returns the highest number without the bug, and the first with it; None where it was not found,
    or a question was not answered.
    """
    low, most = 0, 1
    while most <= _MOST:
        trial = ask([most])[0]
        if trial is None:
            return low, None
        if trial.bug:
            return low, most
        low = most if trial.bug is False else low
        most *= 2
    return low, None


def _spread(points: list[int], count: int) -> list[int]:
    """At most `count` of the points, evenly spread and in order."""
    wanted = [len(points) * (index + 1) // (count + 1) for index in range(count)]
    return sorted({points[index] for index in wanted}) if points else []
