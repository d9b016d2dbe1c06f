"""The sentences under the pictures of the page."""

from __future__ import annotations

from typing import Any

import pytest

from templates.captions import describe_divergence, describe_error_map


def _describe(*compiled: float) -> str:
    points = [
        {"position": at, "operator": f"torch.f{at}", "eager": 0.0, "compiled": error}
        for at, error in enumerate(compiled)
    ]
    return describe_divergence({"of": len(points), "points": points})


def test_the_operation_from_which_on_compiled_is_off_is_named() -> None:
    assert "off by 2 from operation 2, torch.f1 on" in _describe(0.0, 2.0, 3.0)


def test_without_float64_rounding_is_no_fault() -> None:
    def describe(compiled: float) -> str:
        point = {"position": 0, "operator": "torch.sin", "reference": "eager", "eager": 0.0}
        return describe_divergence({"of": 3, "points": [{**point, "compiled": compiled}]})

    assert "agree after the one operation" in describe(1e-7)
    assert describe(0.5).startswith("Compiled is 0.5 from eager from operation 1, torch.sin on (1")
    assert "eager is off by 0" not in describe(0.5)


def test_operations_that_agree_are_counted_in_plain_english() -> None:
    assert "after each of the 2 operations measured" in _describe(0.0, 0.0)
    assert "after the one operation measured" in _describe(0.0)
    assert describe_divergence(None) == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"output": 0, "of": 3, "off": 5, "elements": 24, "max": 0.5},
            "Output 0 (4), one of 3: 5 of 24 elements are off, the worst by 0.5, against eager.",
        ),
        (
            {"output": 0, "of": 1, "off": 1, "elements": 1, "max": None},
            "The output (4): 1 of 1 element is off, the worst by what is not a number, against"
            " eager.",
        ),
    ],
)
def test_an_output_has_the_number_that_the_verdict_gives_it(
    given: dict[str, Any], said: str
) -> None:
    assert describe_error_map({**given, "shape": [4], "reference": "eager"}) == said
