"""A verdict as lines for the terminal: what it is, what that means, and the command that measures
it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def render_verdict(report: Mapping[str, Any]) -> list[str]:
    """The verdict of a report document, with or without a repro."""
    verdict = report["verdict"]
    word = "bug" if verdict["is_bug"] else "no bug to report"
    where = f" in {verdict['layer']}" if verdict["is_bug"] else ""
    return [
        f"verdict: {verdict['kind']}{where} ({word})",
        verdict["summary"],
        *report.get("remarks", ()),
        "",
        verdict["explanation"],
        *(f"measure again: {command}" for command in [verdict["command"]] if command),
    ]


def render_ladder(report: Mapping[str, Any]) -> list[str]:
    """The rungs with their wall time in seconds, as a table."""
    width = max((len(row["rung"]) for row in report["ladder"]), default=0)
    return [
        (
            f"  {row['rung']:{width}}  {row['outcome']:8} {row['seconds'] or 0:6.1f} s"
            f"  {row['detail']}"
        ).rstrip()
        for row in report["ladder"]
    ]
