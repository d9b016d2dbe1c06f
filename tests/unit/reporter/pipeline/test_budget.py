"""What a budget leaves to a stage, by a clock that stands."""

from __future__ import annotations

import pytest

from reporter.pipeline.budget import Budget


def test_without_a_budget_no_limit_is_cut() -> None:
    budget = Budget(started=100.0, clock=lambda: 5000.0)
    assert budget.end is None
    assert budget.limit(300.0, share=0.1) == 300.0
    assert budget.elapsed == 4900.0


@pytest.mark.parametrize(
    ("now", "share", "limit"),
    [
        (100.0, 1.0, 30.0),  # all that was asked for is left
        (140.0, 1.0, 20.0),
        (140.0, 0.5, 10.0),
        (159.9, 1.0, 1.0),
        (900.0, 0.2, 1.0),  # a stage that begins too late can still say something
    ],
)
def test_a_limit_is_cut_to_a_share_of_what_is_left(now: float, share: float, limit: float) -> None:
    budget = Budget(60.0, 100.0, clock=lambda: now)
    assert budget.end == 160.0
    assert budget.limit(30.0, share) == pytest.approx(limit)
