"""The issue: a title line and a body with exactly the sections that the receiving project's form
has.

The body has a limit. When it is reached, the log gives way first, then the versions; the repro is
never cut. All that an issue says is in `report.json` and `repro.py`, so it can be written again for
another tracker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonymizer.kinds import is_harness
from templates import issue_forms, kernel, tables
from templates.description import (
    describe_difference,
    describe_duration,
    describe_expected_and_actual,
    describe_failure,
)
from templates.facts import is_eager, is_exported, name_subject
from templates.issue_forms import IssueForm
from templates.log import cut_log
from templates.release_order import describe_turns, list_release_rows
from templates.sample import REPRO, build_kernel_sample, build_sample
from templates.text import count_bytes, escape_unseen, list_headings, shorten, tidy_log
from templates.title import render_title
from templates.versions import render_versions

BODY_LIMIT = issue_forms.LIMIT
_MARGIN = 64


def render_issue(report: Mapping[str, Any], repro: str, form: IssueForm | None = None) -> str:
    """`issue.md`: the title line, an empty line, the body as it is filed.

    Args:
        report: the document of `report.json`; it must be of a repro and have the section `issue`.
        repro: its text.
        form: whose sections, limit and order; by default those of PyTorch's form.

    Raises:
        ValueError: the body is past the tracker's limit even without its log.
        FormError: a form of the user's own cannot be filled in.
    """
    form = form or issue_forms.load("pytorch")
    tidy = tidy_log(report["issue"]["error_log"])
    log = escape_unseen(cut_log(tidy)).strip()
    versions = render_versions(report["issue"]["environment"])
    room = form.limit - _MARGIN - len(_render_body(form, report, repro, "", versions))
    if room < 0:
        versions = shorten(versions, max(0, count_bytes(versions) + room))
        room = 0
    body = _render_body(form, report, repro, shorten(log, room), versions)
    if len(body) > form.limit:
        raise ValueError(
            f"the repro alone is past the tracker's limit of {form.limit:,} characters"
        )
    return f"{render_title(report, tidy)}\n\n{body}"


def _render_body(
    form: IssueForm, report: Mapping[str, Any], repro: str, log: str, versions: str
) -> str:
    return issue_forms.fill(form, collect_values(report, repro, log, versions)).strip("\n") + "\n"


def collect_values(
    report: Mapping[str, Any], repro: str, log: str, versions: str
) -> dict[str, Any]:
    """Every name that a template may use.

    Args:
        report: report.json, with `issue`.
        repro: the text of repro.py.
        log: the error log as the issue shows it, tidied and cut.
        versions: the Versions section, shortened where the limit asks for it.
    """
    expected, actual = describe_expected_and_actual(report)
    issue = report["issue"]
    tidy = tidy_log(issue["error_log"])
    releases = list_release_rows(report, issue["releases"])
    requirements = tables.list_requirements(report, repro)
    needed, not_needed = tables.choose_rows(requirements)
    return {
        "title": render_title(report, tidy),
        "report": report,
        # the name by which forms of the user's own know it
        "evidence": {**issue, "repro": repro},
        "repro": repro,
        "has_control": not is_harness(repro),
        "is_eager": is_eager(report),
        "is_exported": is_exported(report),
        "lasting": describe_duration(report),
        "sentences": describe_failure(report, issue["culprit"], tidy),
        "expected": expected,
        "actual": actual,
        "difference": describe_difference(report) if report.get("differs_from") else None,
        "grid": tables.write_grid(tables.build_grid(report)),
        "neighbours": tables.list_neighbour_rows(report),
        "targets": kernel.list_targets(report) if kernel.is_kernel(report) else [],
        "subject": name_subject(report),
        "generated": kernel.describe_generated(report),
        "measured": tables.describe_measured(report),
        "requirements": requirements,
        "needed": needed,
        "not_needed": not_needed,
        "releases": releases,
        "turning": describe_turns(releases),
        "not_measured": report.get("not_measured") or (),
        "libraries": tables.list_library_versions(report, issue["environment"]),
        "log": log,
        "log_left_out": bool(tidy.strip()) and not log,
        "versions": versions,
    }


def try_form(form: IssueForm) -> None:
    """Fills a form with samples, so that a mistake in it shows before anything else is done.

    Raises:
        FormError: it cannot be filled in, or its body has other headings than it declares.
    """
    for report in (build_sample(), build_kernel_sample()):
        _try_on(form, report)


def _try_on(form: IssueForm, report: Mapping[str, Any]) -> None:
    try:
        text = render_issue(report, REPRO, form)
    except ValueError as error:
        raise issue_forms.FormError(f"the form {form.name}: {error}") from None
    body = text.split("\n", 2)[2]
    found = list_headings(body)
    if form.headings and found != list(form.headings):
        raise issue_forms.FormError(
            f"the form {form.name} has the headings {_join_names(found)} where form.toml says"
            f" {_join_names(form.headings)}"
        )
    if REPRO.strip() not in body:
        raise issue_forms.FormError(
            f"the form {form.name} leaves out the repro; use {{{{ repro }}}}"
        )


def _join_names(names: Any) -> str:
    return ", ".join(repr(name) for name in names) or "none"
