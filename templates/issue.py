"""The issue: a title line and exactly the three sections the receiving project's form has.

The body has a limit. When it is reached, the log gives way first, then the versions; the repro is never cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from templates import render, wording
from templates.text import shorten, size, tidy_log
from templates.versions import versions_block

BODY_LIMIT = 65_536
_MARGIN = 64


@dataclass(frozen=True)
class Evidence:
    """What the issue shows beside the report's numbers.

    `releases` maps a torch version to what was seen there; `workaround` and `culprit` are phrases without a full
    stop; `human_words` is what the reporter wrote, and only then does the text say that a person confirmed it;
    `key` marks the issue so that it is never filed twice.
    """

    repro: str
    environment: Mapping[str, Any]
    version: str
    error_log: str = ""
    culprit: str = ""
    workaround: str = ""
    releases: Mapping[str, str] = field(default_factory=dict)
    human_words: str = ""
    key: str = ""


def render_issue(report: Mapping[str, Any], evidence: Evidence) -> str:
    """`issue.md`: the title line, an empty line, the body as it is filed.

    Args:
        report: the document of `report.json`; it must hold a repro.

    Raises:
        ValueError: the body is past the tracker's limit even without its log.
    """
    log = tidy_log(evidence.error_log).strip()
    versions = versions_block(evidence.environment)
    room = BODY_LIMIT - _MARGIN - size(_body(report, evidence, "", versions))
    if room < 0:
        versions = shorten(versions, max(0, size(versions) + room))
        room = 0
    body = _body(report, evidence, shorten(log, room), versions)
    if size(body) > BODY_LIMIT:
        raise ValueError("the repro alone is past the tracker's limit of 65,536 characters")
    return f"{wording.title(report)}\n\n{body}"


def _body(report: Mapping[str, Any], evidence: Evidence, log: str, versions: str) -> str:
    expected, actual = wording.expected_and_actual(report)
    return render(
        "issue.md.j2",
        report=report,
        evidence=evidence,
        sentences=wording.description(report, evidence.culprit),
        expected=expected,
        actual=actual,
        difference=wording.difference(report) if report.get("differs_from") else None,
        grid=wording.grid(report),
        measured=wording.measured(report),
        requirements=wording.requirements(report),
        log=log,
        versions=versions,
    )
