"""What else fails as a finished repro does: the question that maintainers ask second.

Each neighbour runs in the harness in a warm worker, so that wrong values are judged by float64 and
a program that eager mode refuses is told apart. One that passes there has to pass as the filed text
would, too. What does not end in the time that was given is left out, never guessed.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass

from anonymizer.graph.randomness import draws_random_numbers
from anonymizer.harness.text import render_harness
from anonymizer.kinds import WRONG_VALUES
from anonymizer.plain.neighbours import SIZE, SIZES, Neighbour, build_neighbours
from reporter.core.answer import Answer
from reporter.execution.worker_pool import WorkerPool
from reporter.verify.plain import PlainRepro

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
    repro: PlainRepro,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[NeighbourResult]:
    """The variants of a repro that could be judged, in the order in which they are asked.

    Args:
        pool: workers of the user's interpreter.
        shows: whether an answer shows the failure of the repro.
        seconds: for all of them; what has not ended by then is left out.
    """
    body, assertion = repro.parts
    is_by_values = assertion.kind in WRONG_VALUES and draws_random_numbers("\n".join(body.inputs))

    def has_fewer_draws(near: Neighbour) -> bool:
        """Whether it is right for want of the one random number that fails, as far as is known."""
        return is_by_values and near.what.startswith((SIZE, SIZES)) and int(near.to) < int(near.own)

    end = clock() + seconds
    chosen = list(itertools.islice(build_neighbours(body, assertion), MOST))

    def is_failing(near: Neighbour) -> bool | None:
        """None where that cannot be judged, or not in time."""
        answer = ask(render_harness(near.body, assertion))
        if answer is None or not (shows(answer) or answer.passed):
            return None
        # a NaN in the float64 reference excuses all; what is filed fails with it
        text = repro.with_body(near.body) if answer.passed else None
        if text is not None and not _passes(ask(text)):
            return None
        return shows(answer)

    def ask(text: str) -> Answer | None:
        left = end - clock()
        return _wait(pool.submit(text), left) if left > 0 else None

    told: set[str] = set()
    # one worker is left to those who look for the culprit meanwhile, one question after another
    with ThreadPoolExecutor(max_workers=max(1, pool.jobs - 1)) as threads:
        for near, fails in zip(chosen, threads.map(is_failing, chosen)):
            if fails is None or not fails and has_fewer_draws(near):
                continue
            if near.what not in told:
                told.add(near.what)
                yield NeighbourResult(near.what, near.own, True)
            yield NeighbourResult(near.what, near.to, fails)


def _wait(future: Future[Answer], seconds: float) -> Answer | None:
    """The answer, if it comes within so many seconds."""
    try:
        return future.result(timeout=max(0.0, seconds))
    except (FutureTimeoutError, CancelledError):
        future.cancel()
        return None


def _passes(answer: Answer | None) -> bool:
    return answer is not None and answer.passed
