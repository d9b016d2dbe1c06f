"""The application that brings a bug is found between one without it and one with it, or nothing is
claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future

import pytest

from reporter.diagnose.details.experiment import Trial, Variation
from reporter.diagnose.details.variation_search import Runner, locate


def asking(
    bug: Callable[[int], bool | None], limit: int = 1000
) -> tuple[list[int], Callable[..., list[Trial | None]]]:
    asked: list[int] = []

    def ask(points: Sequence[int]) -> list[Trial | None]:
        answers: list[Trial | None] = []
        for point in points:
            asked.append(point)
            answers.append(Trial(bug(point)) if len(asked) <= limit else None)
        return answers

    return asked, ask


@pytest.mark.parametrize("total", [1, 2, 3, 120, None])
@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_application_can_be_the_one(total: int | None, jobs: int) -> None:
    for culprit in range(1, (total or 40) + 1):
        asked, ask = asking(lambda most, culprit=culprit: most >= culprit)
        found = locate(ask, total, jobs)
        assert (found.number, found.exact) == (culprit, True)
        assert found.below is not None and found.below.bug is False
        assert len(asked) <= 30


def test_what_nobody_can_judge_is_stepped_over() -> None:
    _, ask = asking(lambda most: None if most in (30, 60, 61) else most >= 77)
    assert locate(ask, 120, 2).number == 77
    _, ask = asking(lambda most: None if most == 76 else most >= 77)
    found = locate(ask, 120, 2)
    assert not found.exact and found.number == 77


def test_without_time_nothing_is_claimed() -> None:
    _, ask = asking(lambda most: most >= 77, limit=3)
    assert not locate(ask, 120, 1).exact
    _, ask = asking(lambda most: most >= 77, limit=3)
    assert locate(ask, None, 1).number is None


def test_nothing_is_started_after_the_deadline() -> None:
    def experiment(variation: Variation) -> Future[Trial]:
        raise AssertionError(f"{variation.name} was started")

    assert Runner(experiment, 1, deadline=9.0, clock=lambda: 9.0).run([Variation("late")]) == [None]
