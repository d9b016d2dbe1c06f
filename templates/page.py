"""The visual report: one self-contained page, no scripts and nothing fetched, so it can be mailed
and opened anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from templates import captions, charts, render, tables
from templates.description import (
    describe_difference,
    describe_expected_and_actual,
    describe_failure,
)
from templates.facts import name_subject, name_unit
from templates.log import cut_log
from templates.release_order import describe_turns, list_release_rows
from templates.text import tidy_log
from templates.title import render_title
from templates.versions import render_versions


def render_page(
    report: Mapping[str, Any],
    repro: str,
    cells: Sequence[Sequence[float | None]] = (),
) -> str:
    """`report.html` from the document of `report.json`.

    Args:
        report: it must be of a repro and have the section `issue`.
        repro: its text.
        cells: the error in each cell of the worst output, which `report.json` does not hold.
    """
    expected, actual = describe_expected_and_actual(report)
    measured = report.get("pictures") or {}
    issue = report["issue"]
    log = tidy_log(issue["error_log"])
    error_map = {**measured["error_map"], "cells": cells} if measured.get("error_map") else None
    releases = list_release_rows(report, issue["releases"])
    return render(
        "report.html.j2",
        title=render_title(report, log),
        report=report,
        evidence=issue,
        sentences=[
            _drop_backquotes(sentence)
            for sentence in describe_failure(report, issue["culprit"], log)
        ],
        expected=_drop_backquotes(expected),
        actual=_drop_backquotes(actual),
        difference=describe_difference(report) if report.get("differs_from") else None,
        requirements=[
            (name, _drop_backquotes(value))
            for name, value in tables.list_requirements(report, repro)
        ],
        ladder=Markup(charts.plot_ladder(report)),
        divergence=Markup(charts.plot_divergence(measured.get("divergence"))),
        where=captions.describe_divergence(measured.get("divergence")),
        error_map=Markup(charts.plot_error_map(error_map)),
        spread=captions.describe_error_map(error_map),
        phases=(report.get("evidence") or {}).get("compile_seconds"),
        reduction=Markup(charts.plot_reduction(report.get("reduction") or ())),
        releases=Markup(charts.plot_releases(releases)),
        turning=describe_turns(releases),
        subject=name_subject(report),
        unit=name_unit(report),
        source=_list_lines(repro, measured.get("graph_breaks") or ()),
        graphs=captions.describe_graphs(measured),
        log=cut_log(log).strip(),
        versions=render_versions(issue["environment"]),
    )


def _list_lines(
    repro: str, breaks: Sequence[Mapping[str, Any]]
) -> list[tuple[int, str, list[str]]]:
    """The lines of the repro by number, each with the reasons why the graph breaks there."""
    reasons: dict[int, list[str]] = {}
    for found in breaks:
        reasons.setdefault(int(found["line"]), []).append(str(found["reason"]))
    return [
        (number, line, reasons.get(number, []))
        for number, line in enumerate(repro.rstrip().splitlines(), 1)
    ]


def _drop_backquotes(text: str) -> str:
    """Wording is Markdown; a page has no use for the backticks."""
    return text.replace("`", "")
