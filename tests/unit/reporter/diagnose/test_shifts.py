"""How far a variation of eager mode moves its results, beside how far the compiled one is off."""

from __future__ import annotations

import math
from typing import Any

import pytest

from collectors.protocol.comparison import Comparison
from reporter.diagnose.shifts import find_shift

#: The logarithm of normalized noise around 0, of 720 elements.
INFINITE = {"max_abs_error": math.inf, "rms_error": math.inf, "inf": [0, 720], "mismatched": 720}
CROSSED = {"max_abs_error": math.nan, "rms_error": math.nan, "mismatched": 720}


def compare(**numbers: Any) -> Comparison:
    """A comparison in which one output differs by these numbers."""
    item = {"where": "output 0", "property": "value", "same": False, "tight": False, **numbers}
    comparison = {"rule": 1, "equal": False, "same": False, "tight": False}
    return {**comparison, "metadata": [], "values": [item]}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        ({**CROSSED, "nan_moved": 333}, "to NaN, or from it"),
        ({**CROSSED, "nan_moved": 100}, None),
        ({**CROSSED, "nan_moved": 333, "mismatched": 340}, None),
        ({"max_abs_error": 3.0, "rms_error": 1.0, "mismatched": 720}, None),
        (INFINITE, "by inf"),
    ],
)
def test_nan_across_the_edge_of_a_domain_is_as_far_as_infinity(
    moved: dict[str, Any], said: str | None
) -> None:
    assert find_shift(compare(**moved), compare(**INFINITE)) == said


def test_an_infinity_that_no_count_tells_of_is_not_excused_by_nan() -> None:
    off = {name: number for name, number in INFINITE.items() if name != "inf"}
    assert find_shift(compare(**CROSSED, nan_moved=720), compare(**off)) is None
