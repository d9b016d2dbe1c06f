"""The files of a report: rendered from one `Report`, linted, searched for private words, and
written as a whole or not at all.

They are the same for a program and for a Triton kernel, since all that differs is in the document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from anonymizer.leakcheck.scanner import Identity, Leak, count_terms
from reporter.core.errors import UsageError
from reporter.core.kinds import BELOW_INDUCTOR, RungOutcome
from reporter.core.settings import IssueOptions
from reporter.core.version import VERSION
from reporter.execution.interpreter import InterpreterInfo
from reporter.lint.linter import lint
from reporter.lint.subject import collect_texts
from reporter.publish.form import build_refusal
from reporter.publish.leak_check import AllowList, check_outgoing, refuse_leaks
from reporter.publish.rerendering import build_rerender_files
from reporter.publish.result import RunResult
from reporter.publish.summary import Summary
from reporter.report.folder import (
    ALLOW_LIST,
    ERROR_LOG,
    ISSUE,
    PAGE,
    REPORT,
    REPRO,
    TEST,
    find_private_folder,
    write_report,
)
from reporter.report.sections.base import build_section
from reporter.report.sections.machine import EnvironmentSection
from reporter.report.sections.outgoing import IssueSection, LeakCheckSection, LintSection
from reporter.report.sections.report_document import Report
from reporter.report.sections.stages import StageRow
from reporter.store.reports import build_stored_report, compute_key, save_report
from templates.issue import render_issue
from templates.issue_forms import FormError, IssueForm
from templates.page import render_page
from templates.text import escape_unseen, shorten, tidy_log

#: Characters of a failure's log that report.json keeps.
_LOG_LIMIT = 20_000
_LEFT_OUT = re.compile(r"^\[\.\.\. \d+ or more bytes left out \.\.\.\]$", re.MULTILINE)


@dataclass(frozen=True)
class RunUsage:
    """What a run took: wall seconds, what its stages used, and those that it left out."""

    seconds: float
    timing: dict[str, StageRow] = field(default_factory=dict)
    not_measured: tuple[str, ...] = ()


@dataclass(frozen=True)
class Destination:
    """Where a report goes: what its issue was to say, the folder that the program ran in, its
    interpreter, the report's folder, and what the run took.
    """

    issue: IssueOptions
    cwd: Path
    info: InterpreterInfo
    output: Path
    used: RunUsage

    def name_project(self, form: IssueForm) -> str:
        """The project to file in, as the command line has it; words for one that is not known."""
        return self.issue.repo or form.repository or "OWNER/REPO"


@dataclass(frozen=True)
class Draft:
    """A report that has not been searched yet, with the whole log in its issue, and its programs.

    Attributes:
        cells: the error in each cell of the worst output.
        others: more files, by name.
        allowed: public values that only this draft has and that look like credentials.
    """

    report: Report
    repro: str
    test: str
    cells: Sequence[Sequence[float | None]] = ()
    others: Mapping[str, str] = field(default_factory=dict)
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outgoing:
    """A report that passed the leak check: what leaves by its name, what stays by its name below
    `private/`, and the summary that is printed at the end.
    """

    summary: Summary
    files: Mapping[str, str]
    private: Mapping[str, bytes | str]


def make_issue(
    to: Destination, form: IssueForm, repro: str, environment: EnvironmentSection, log: str
) -> IssueSection:
    """What every issue says beside the report's numbers.

    Args:
        to: has the user's own words.
        form: only its public name is written down.
        repro: the text of `repro.py`, of which the key is made.
        environment: the machine, as it may leave.
        log: the error as a fresh process printed it.
    """
    return IssueSection(
        environment=environment,
        version=VERSION,
        error_log=log,
        human_words=to.issue.summary or "",
        key=compute_key(repro),
        form=form.public_name,
    )


def build_outgoing(
    to: Destination,
    form: IssueForm,
    *,
    allowing: AllowList,
    drafts: Iterable[Draft],
    private: Mapping[str, bytes | str],
    note: Callable[[str], None],
) -> Outgoing:
    """The first of the drafts in which nothing private is found, as it leaves.

    Args:
        allowing: what they are held against.
        private: what stays in the report's folder, beside what writing it anew needs.
        note: gets what the lint found.

    Raises:
        LeakError: there is something private in each of them; no outgoing file is written.
        UsageError: a form of the user's own cannot be filled in.
    """
    allowing = allowing.add_words(to.used.timing)
    report, files = _render_clean_draft(to.output, form, allowing, drafts, note)
    assert report.issue is not None
    summary = Summary(
        report,
        to.output,
        str(to.info.path),
        to.name_project(form),
        report.issue.culprit,
        report.issue.workaround or _describe_right_backend(report),
    )
    more = {ALLOW_LIST: allowing.dumps(), **build_rerender_files(form, files)}
    return Outgoing(summary, files, {**private, **more})


def publish(outgoing: Outgoing, overwrite: bool) -> RunResult:
    """Writes the report folder as a whole and notes it in the store.

    `overwrite` allows a folder that holds a report already.

    Raises:
        UsageError: the folder holds something else, or cannot be written.
    """
    summary, files = outgoing.summary, outgoing.files
    write_report(summary.output, files, outgoing.private, replace=overwrite)
    lines = (*_remember(summary.output, summary.report, files), *summary.render_lines())
    return RunResult(summary.report, 0, lines, summary.output, summary)


def _render_clean_draft(
    output: Path,
    form: IssueForm,
    allowing: AllowList,
    drafts: Iterable[Draft],
    note: Callable[[str], None],
) -> tuple[Report, dict[str, str]]:
    """The first of the drafts that passes the leak check.

    Raises:
        LeakError: none does.
    """
    identity = Identity.from_this_machine()
    passed = LeakCheckSection(True, count_terms(allowing.terms, identity), ())
    findings: tuple[Leak, ...] = ()
    for draft in drafts:
        report, files = _render(replace(draft.report, audit=passed), draft, form, note)
        result = check_outgoing(
            files,
            allowing.terms,
            internals=allowing.internals,
            identity=identity,
            allowed=(*allowing.allowed, compute_key(draft.repro), *draft.allowed),
        )
        if result.passed:
            return report, files
        findings = result.findings
    refuse_leaks(findings, "no report was written", find_private_folder(output))
    raise ValueError("there is no draft")


def _render(
    report: Report, draft: Draft, form: IssueForm, note: Callable[[str], None]
) -> tuple[Report, dict[str, str]]:
    """The report as it is written, and what may leave by its name in the folder."""
    assert report.issue is not None
    document, log = report.to_json(), tidy_log(report.issue.error_log)
    try:
        issue = render_issue(document, draft.repro, form)
    except (FormError, ValueError) as error:
        raise build_refusal(FormError(str(error))) from None
    result = lint(collect_texts(form, issue, draft.repro, draft.test, report))
    for violation in result.findings:
        if violation.weight == "error":
            note(f"lint: {violation.describe()}")
    report = replace(
        report,
        issue=replace(report.issue, error_log=shorten(escape_unseen(log).strip(), _LOG_LIMIT)),
        lint=build_section(LintSection, result.to_section_json()),
    )
    return report, {
        REPRO: draft.repro,
        TEST: draft.test,
        ISSUE: issue,
        # what the tracker's limit left no room for; `file` puts it beside the issue
        **({ERROR_LOG: log} if _LEFT_OUT.search(issue) else {}),
        PAGE: render_page(document, draft.repro, draft.cells),
        REPORT: report.dumps(),
        **draft.others,
    }


def _remember(output: Path, report: Report, files: Mapping[str, str]) -> list[str]:
    """Notes the report in the store; a store that cannot be used costs a line, never the report."""
    title = files[ISSUE].partition("\n")[0]
    try:
        save_report(build_stored_report(output, report, title, files[REPRO]))
    except UsageError as error:
        return [f"note: `bugreport list` will not know this report: {error}"]
    return []


def _describe_right_backend(report: Report) -> str:
    """The backend nearest to the user's under which the repro is right, for the user's own sake."""
    right = [
        row.rung
        for row in report.ladder
        if row.outcome == RungOutcome.OK and row.rung in BELOW_INDUCTOR
    ]
    return f'`torch.compile(backend="{right[-1]}")` is right' if right else ""
