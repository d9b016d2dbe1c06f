"""Side effects that other eager runs do not share are left out of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.protocol.comparison import Comparison, MetadataDifference
from collectors.protocol.repro_words import Property
from reporter.recording.side_effects import drop_state, settle

EFFECT: MetadataDifference = {
    "where": "Python state 3",
    "property": Property.SIDE_EFFECT,
    "eager": "1 item",
    "compiled": "0 items",
}
STRIDE: MetadataDifference = {**EFFECT, "where": "output 0", "property": Property.STRIDE}


def comparison(*metadata: MetadataDifference) -> Comparison:
    return {
        "rule": 1,
        "equal": not metadata,
        "same": not metadata,
        "tight": not metadata,
        "metadata": list(metadata),
        "values": [],
    }


def test_without_state_the_rest_is_judged() -> None:
    assert drop_state(comparison(EFFECT))["same"]
    assert drop_state(comparison(EFFECT, STRIDE))["metadata"] == [STRIDE]
    assert not drop_state(comparison(EFFECT, STRIDE))["same"]


def test_other_runs_are_made_only_for_a_side_effect() -> None:
    def never() -> Sequence[str] | None:
        raise AssertionError

    assert settle(None, never, lambda again: None) is None
    assert settle(comparison(STRIDE), never, lambda again: None) == comparison(STRIDE)


def test_a_side_effect_is_compared_once_more_beside_the_other_runs() -> None:
    asked = []

    def compare(again: Sequence[str]) -> Comparison:
        asked.append(tuple(again))
        return comparison()

    assert settle(comparison(EFFECT), lambda: ("a", "b"), compare) == comparison()
    assert asked == [("a", "b")]


def test_where_another_run_fails_nothing_is_said_of_side_effects() -> None:
    found = settle(comparison(EFFECT), lambda: None, lambda again: comparison(EFFECT))
    assert found is not None and found["same"]
