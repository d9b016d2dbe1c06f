"""The visual report: one self-contained page, no scripts and nothing fetched, so it can be mailed and opened anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from templates import render, wording
from templates.issue import Evidence
from templates.text import tidy_log
from templates.versions import versions_block


def render_page(report: Mapping[str, Any], evidence: Evidence) -> str:
    """`report.html` from the document of `report.json`; it must hold a repro."""
    expected, actual = wording.expected_and_actual(report)
    return render(
        "report.html.j2",
        title=wording.title(report),
        report=report,
        evidence=evidence,
        sentences=[_plain(sentence) for sentence in wording.description(report, evidence.culprit)],
        expected=_plain(expected),
        actual=_plain(actual),
        difference=wording.difference(report) if report.get("differs_from") else None,
        requirements=[(name, _plain(value)) for name, value in wording.requirements(report)],
        log=tidy_log(evidence.error_log).strip(),
        versions=versions_block(evidence.environment),
    )


def _plain(text: str) -> str:
    """Wording is Markdown; a page has no use for the backticks."""
    return text.replace("`", "")
