"""A report with something to show in every picture, and its page."""

from __future__ import annotations

import functools
from typing import Any

from templates.page import render_page
from tests.support import outgoing_data as data

CHARTS = {"ladder", "divergence", "error-map", "reduction", "releases"}


OPERATORS = ("torch.nn.functional.pad", "torch.chunk", "torch.nn.functional.pairwise_distance")


def document() -> dict[str, Any]:
    """A report with something to show in every picture."""
    points = [
        {
            "position": position,
            "operator": operator,
            "eager": 1.5e-7 * position,
            "compiled": [0.0, 1.5e-7, 0.86][position],
            "reference": "float64",
        }
        for position, operator in enumerate(OPERATORS)
    ]
    spread = {"output": 0, "of": 1, "shape": [64, 128], "step": [1, 2], "max": 1.2, "off": 900}
    return {
        **data.gradient_report().to_json(),
        "pictures": {
            "graphs": 2,
            "graph_breaks": [{"line": 9, "reason": "call to <b>graph_break</b>"}],
            "divergence": {"graph": 0, "of": 3, "points": points},
            "error_map": {**spread, "elements": 8192, "reference": "float64"},
        },
        "reduction": [[1, 40, 80], [5, 6, 44], [31, 2, 38]],
        "differs_from": [{"torch": "2.6.0", "python": "3.11.7", "outcome": "passes"}],
    }


def cells() -> list[list[float | None]]:
    """No two neighbors alike, which makes the largest drawing; one value is not finite."""
    rows: list[list[float | None]] = [
        [10.0 ** -((x * 7 + y * 3) % 8) for x in range(64)] for y in range(64)
    ]
    rows[3][4] = None
    return rows


@functools.cache
def page() -> str:
    """The page of that report."""
    report = data.with_issue(document(), error_log="Traceback: no")
    return render_page(report, data.text(data.GRADIENT), cells())
