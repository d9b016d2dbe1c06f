"""Which outputs a comparison calls wrong."""

from __future__ import annotations

from typing import Any

from reporter.diagnose.comparisons import list_wrong_outputs


def test_outputs_are_wrong_by_their_values_or_by_what_else_they_are() -> None:
    comparison: Any = {
        "metadata": [{"where": "output 3"}, {"where": "outputs"}],
        "values": [
            {"where": "output 0", "same": True},
            {"where": "output 11", "same": False},
            {"where": "changed input 1", "same": False},
        ],
    }
    assert list_wrong_outputs(comparison) == (3, 11)
    assert list_wrong_outputs(None) == ()
