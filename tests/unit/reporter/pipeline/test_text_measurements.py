"""What is measured of a text while fresh processes run it, with answers that are a function of the
text.
"""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from anonymizer.graph.repro import FUNCTION_CALL, ReproAssertion, ReproBody
from anonymizer.harness.text import render_harness
from anonymizer.plain.script.forms import PlainForm
from reporter.core.kinds import Kind, Layer
from reporter.core.progress import PlainProgress
from reporter.core.signature import Signature
from reporter.pipeline.budget import Budget
from reporter.pipeline.optional_measurements import OptionalMeasurements
from reporter.pipeline.text_measurements import BegunMeasurements, TextMeasurements
from reporter.verify.plain import PlainRepro
from tests.support.graphs import TextPool

ASSERTION = ReproAssertion(Kind.WRONG_RESULT)
BODY = ReproBody(
    "def repro(x):\n    return torch.neg(x)",
    "repro",
    ("return (torch.ones(4, 4),)",),
    FUNCTION_CALL,
)
REPRO = PlainRepro("", render_harness(BODY, ASSERTION), (BODY, ASSERTION), form=PlainForm.EXACT)


class _Pool(TextPool):
    ample_limit = 4.0

    def __init__(self) -> None:
        super().__init__(lambda text: "passes")


def _build(pool: _Pool, kind: Kind = Kind.WRONG_RESULT) -> TextMeasurements:
    verdict = SimpleNamespace(signature=Signature(kind, Layer.BACKEND), kind=kind, failure=None)
    captured = SimpleNamespace(verdict=verdict, material=SimpleNamespace(whole=None), device="cpu")
    reduced: Any = SimpleNamespace(
        captured=captured, candidate=SimpleNamespace(assertion=ASSERTION), own_backend=False
    )
    workers: Any = SimpleNamespace(pool=pool, options=SimpleNamespace(jobs=1))
    return TextMeasurements(reduced, REPRO, workers, Budget(None), lambda _: None)


def _begin(measurements: TextMeasurements, wanted: bool = True) -> tuple[BegunMeasurements, Any]:
    extras = OptionalMeasurements(PlainProgress(io.StringIO()), wanted, at_once=4)
    return measurements.begin(extras), extras


def test_all_parts_are_of_the_text_that_was_begun() -> None:
    pool = _Pool()
    begun, _ = _begin(_build(pool))
    assert begun.program == REPRO
    found = begun.culprit()
    assert begun.rows() and found is not None and not found.workaround
    assert found.layer == Layer.BACKEND  # a bug of which nothing is seen when it is asked again
    assert {row.to for row in begun.neighbours()}  # programs next to it were asked
    assert REPRO.harness in pool.asked


def test_what_is_stopped_asks_nothing_more() -> None:
    pool = _Pool()
    measurements = _build(pool)
    measurements.stopped.set()
    begun, _ = _begin(measurements)
    assert begun.neighbours() == () and begun.culprit() is None
    assert set(pool.asked) <= {REPRO.harness}


def test_what_is_stopped_on_its_way_ends() -> None:
    class Stopping(_Pool):
        """The first question ends it all."""

        def submit(self, text: str, timeout: float | None = None, overrides: Any = None) -> Any:
            asked = super().submit(text, timeout, overrides)
            measurements.stopped.set()
            return asked

    pool = Stopping()
    measurements = _build(pool)
    begun = _begin(measurements)[0]
    rows = begun.rows()
    begun.culprit()
    begun.neighbours()
    whole = _Pool()
    unstopped = _begin(_build(whole))[0]
    unstopped.culprit()
    unstopped.neighbours()
    # all rows of the ablation are asked at once, and a neighbour may be under way
    assert len(pool.asked) <= len(rows) + 2 < len(whole.asked)


@pytest.mark.parametrize(
    ("kind", "left_out"),
    [
        (Kind.WRONG_RESULT, ["ablation", "culprit", "neighbours"]),
        (Kind.HANG, ["ablation", "culprit"]),
    ],
)
def test_a_quick_run_begins_nothing_and_names_only_what_was_due(
    kind: Kind, left_out: list[str]
) -> None:
    pool = _Pool()
    begun, extras = _begin(_build(pool, kind), wanted=False)
    assert begun.rows() == () and begun.neighbours() == ()
    assert extras.left_out == left_out and not pool.asked
