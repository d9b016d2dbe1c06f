"""What the pictures of the page show, in one sentence each, for who cannot or will not look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from templates.facts import describe_off
from templates.text import format_number, pluralize

#: What two results may differ by that are not held against float64, where eager's own error is not
#: known (the tolerance of `same` in `torch/_dynamo/utils.py`).
_ROUNDING = 1e-4


def describe_divergence(found: Mapping[str, Any] | None) -> str:
    """One sentence on where eager and compiled part along the repro's graph; empty where nothing
    was measured.
    """
    points = list((found or {}).get("points") or ())
    if not points:
        return ""
    for point in points:
        name = (
            f"operation {point['position'] + 1},"
            f" {point.get('operator') or 'one without a public name'}"
        )
        if point.get("error"):
            return f"Compiled only up to {name}, it ends in {point['error']}."
        eager, compiled = point.get("eager"), point.get("compiled")
        measured = f"({len(points)} of {(found or {}).get('of')} operations measured)"
        if compiled is None or eager is None:
            continue
        if point.get("reference") == "eager":
            if compiled > _ROUNDING:
                return (
                    f"Compiled is {format_number(compiled)} from eager from {name} on {measured};"
                    " there is no float64 run that either could be held against."
                )
        elif compiled > 10 * eager + 1e-12:
            return (
                f"Compiled is off by {format_number(compiled)} from {name} on, where eager is off"
                f" by {format_number(eager)} {measured}."
            )
    what = f"each of the {len(points)} operations" if len(points) > 1 else "the one operation"
    return (
        f"Compiled and eager agree after {what} measured, taken alone; the fault needs what"
        " follows, in fusion or in the backward pass."
    )


def describe_error_map(found: Mapping[str, Any] | None) -> str:
    """One sentence on how much of the worst output is off."""
    if not found:
        return ""
    shape = " × ".join(map(str, found["shape"])) or "a scalar"
    unknown = "by what is not a number"
    worst = unknown if found["max"] is None else f"by {format_number(found['max'])}"
    which = f"Output {found['output']} ({shape}), one of {found['of']}"
    which = which if found["of"] > 1 else f"The output ({shape})"
    off = describe_off(found["off"], found["elements"])
    return f"{which}: {off}, the worst {worst}, against {found['reference']}."


def describe_graphs(measured: Mapping[str, Any]) -> str:
    """One sentence on how Dynamo captures the repro."""
    graphs = measured.get("graphs")
    if not graphs:
        return ""
    breaks = len(measured.get("graph_breaks") or ())
    return f"Dynamo captures the repro as {pluralize(graphs, 'graph')}" + (
        f"; it breaks at {pluralize(breaks, 'place')}, marked below."
        if breaks
        else ", without a graph break."
    )
