"""The drawings of a page: whatever they are given, nothing breaks out of them."""

from __future__ import annotations

import pytest

from templates import charts


@pytest.mark.parametrize("hostile", ["$x^2$ $", "</svg><script>", "a & b", "\u202e", "x" * 300])
def test_hostile_names_in_pictures(hostile: str) -> None:
    found = {
        "points": [{"position": 0, "operator": hostile, "eager": 0.0, "compiled": 1.0}],
        "of": 1,
    }
    drawn = charts.plot_divergence(found) + charts.plot_releases(
        [("1.0", hostile), (hostile, "right")]
    )
    assert "<script" not in drawn and "\u202e" not in drawn
    assert drawn.count("<svg") == drawn.count("</svg>") == 2


def test_no_error_and_no_number_can_be_drawn() -> None:
    nothing = {"position": 0, "operator": None, "eager": 0.0, "compiled": 0.0}
    raised = {"position": 1, "operator": None, "eager": None, "error": "KeyError"}
    flat = charts.plot_divergence({"points": [nothing, nothing]})
    assert "<svg" in flat
    assert "var(--type)" in flat and "DejaVu" not in flat  # the page's own letters
    assert "KeyError" in charts.plot_divergence({"points": [nothing, raised]})
    assert charts.plot_divergence({"points": [raised]}) == ""
    assert (
        charts.plot_divergence(None)
        == charts.plot_error_map(None)
        == charts.plot_reduction([])
        == ""
    )
    assert charts.plot_error_map({"cells": [[0.0]], "step": [1, 1]}) == ""
    assert "<svg" in charts.plot_error_map({"cells": [[None]], "step": [1, 1]})
