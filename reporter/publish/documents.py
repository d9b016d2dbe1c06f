"""The files of a report folder from one `Report`: rendered, linted, refused where they leak,
remembered in the store.

They are the same for a program and for a Triton kernel, since all that differs is in the document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from reporter.core.errors import UsageError
from reporter.lint.run import lint
from reporter.lint.subject import collect_texts
from reporter.publish.allow_list import ERROR_LOG
from reporter.publish.form import refusal_of
from reporter.report.sections import IssueSection, LintSection, Report, section
from reporter.store.reports import describe, record
from templates.forms import FormError, IssueForm
from templates.issue import render_issue
from templates.material import IssueMaterial
from templates.page import render_page
from templates.text import tidy_log

_LEFT_OUT = re.compile(r"^\[\.\.\. \d+ or more bytes left out \.\.\.\]$", re.MULTILINE)


def was_shortened(issue: str) -> bool:
    """Whether a log or another block of an issue was cut to fit the tracker's limit."""
    return _LEFT_OUT.search(issue) is not None


def render(
    report: Report,
    material: IssueMaterial,
    form: IssueForm,
    test: str,
    note: Callable[[str], None],
    cells: Sequence[Sequence[float | None]] = (),
    others: Mapping[str, str] | None = None,
) -> tuple[Report, dict[str, str]]:
    """The report as it is written, and what may leave by its name in the folder.

    Args:
        test: the text of test_repro.py.
        note: gets what the lint found.
        cells: the error in each cell of the worst output.
        others: more files, by name.

    Raises:
        UsageError: a form of the user's own cannot be filled in.
    """
    report = replace(report, issue=section(IssueSection, material.to_json()))
    document = report.to_json()
    try:
        issue = render_issue(document, material, form)
    except (FormError, ValueError) as error:
        raise refusal_of(FormError(str(error))) from None
    result = lint(collect_texts(form, issue, material.repro, test, document))
    for finding in result.findings:
        if finding.weight == "error":
            note(f"lint: {finding.sentence()}")
    report = replace(report, lint=section(LintSection, result.brief()))
    return report, {
        "repro.py": material.repro,
        "test_repro.py": test,
        "issue.md": issue,
        # what the tracker's limit left no room for; `file` puts it beside the issue
        **({ERROR_LOG: tidy_log(material.error_log)} if was_shortened(issue) else {}),
        "report.html": render_page(document, material, cells),
        "report.json": report.dumps(),
        **(others or {}),
    }


def remember(output: Path, report: Report, files: Mapping[str, str]) -> list[str]:
    """Notes the report in the store; a store that cannot be used costs a line, never the report."""
    title = files["issue.md"].partition("\n")[0]
    try:
        record(describe(output, report, title, files["repro.py"]))
    except UsageError as error:
        return [f"note: `bugreport list` will not know this report: {error}"]
    return []
