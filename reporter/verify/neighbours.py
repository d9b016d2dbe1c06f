"""What else fails as a finished repro does: the question that maintainers ask second.

Each neighbour runs in the harness in a warm worker, so that wrong values are judged by float64 and
a program that eager mode refuses is told apart. What does not end in the time that was given is
left out, never guessed.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass

from anonymizer.graph import boilerplate
from anonymizer.graph.boilerplate import ReproBody, ReproCheck
from anonymizer.plain.neighbours import neighbours
from reporter.core.answer import Answer
from reporter.execution.worker_pool import WorkerPool
from reporter.reduce.contrast import passes

#: Variants that are asked about at most.
MOST = 20


@dataclass(frozen=True)
class NeighbourResult:
    """A variant that runs in eager mode: what was changed, to what, and whether it fails alike.

    The repro itself is the first one of each `what`.
    """

    what: str
    to: str
    fails: bool


def find_neighbours(
    pool: WorkerPool,
    shows: Callable[[Answer], bool],
    repro: tuple[ReproBody, ReproCheck],
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[NeighbourResult]:
    """The variants of a repro that could be judged, in the order in which they are asked.

    Args:
        pool: workers of the user's interpreter.
        shows: whether an answer shows the failure of the repro.
        repro: its program and its check.
        seconds: for all of them; what has not ended by then is left out.
    """
    body, check = repro
    end = clock() + seconds
    chosen = list(itertools.islice(neighbours(body, check), MOST))
    asked: list[Future[Answer]] = [
        pool.submit(boilerplate.render(near.body, check)) for near in chosen
    ]
    told: set[str] = set()
    for near, future in zip(chosen, asked):
        try:
            answer = future.result(timeout=max(0.0, end - clock()))
        except FutureTimeoutError:
            future.cancel()
            continue
        fails = shows(answer)
        if fails or passes(answer):
            if near.what not in told:
                told.add(near.what)
                yield NeighbourResult(near.what, near.own, True)
            yield NeighbourResult(near.what, near.to, fails)
