"""A finished report written again: all that its issue and its page say is in `report.json` and
`repro.py`.

So a report can be told in another tracker's form, and gets the releases on which it was checked
afterwards. An issue.md that its owner has edited is theirs, and stays as it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from reporter.core.atomic import write_atomically
from reporter.core.errors import BugreportError, UsageError
from reporter.core.kinds import CheckOutcome, assert_never
from reporter.lint.linter import lint
from reporter.lint.subject import collect_texts
from reporter.publish.form import build_refusal
from reporter.publish.leak_check import list_public_values
from reporter.publish.second_leak_check import recheck
from reporter.report.folder import (
    ISSUE,
    PAGE,
    PRIVATE,
    REPORT,
    REPRO,
    TEST,
    write_private,
)
from reporter.report.labels import REGRESSION
from reporter.report.own_form import TEMPLATE, load_own_form
from reporter.report.reading import load_report
from reporter.report.sections.base import build_section
from reporter.report.sections.finished_repro import ReleaseRow
from reporter.report.sections.outgoing import IssueSection, LintSection
from reporter.report.sections.report_document import Report
from reporter.store.database import open_store
from reporter.store.reports import compute_key
from templates.issue import render_issue
from templates.issue_forms import FormError, IssueForm
from templates.page import render_page
from templates.release_order import find_regressions, is_right

#: In `private/`: the hash of the issue as it was written.
WRITTEN = "issue.sha256"
#: Digits of a commit that people read.
_COMMIT = 10


def build_rerender_files(form: IssueForm, files: Mapping[str, str]) -> dict[str, str]:
    """What `private/` keeps of a report so that it can be written again."""
    own = {TEMPLATE: str(form.folder.absolute())} if form.folder is not None else {}
    return {**own, WRITTEN: _compute_digest(files[ISSUE])}


def render_in_form(folder: Path, form: IssueForm) -> str:
    """The issue of a report in another form: title line, empty line, body.

    Raises:
        UsageError: the folder is no report with a repro, or the form cannot be filled in.
    """
    report, repro, issue = _read_folder(folder)
    return _fill_in(replace(report, issue=replace(issue, form=form.public_name)), repro, form)


def _fill_in(report: Report, repro: str, form: IssueForm) -> str:
    """The issue in a form.

    Raises:
        UsageError: the form cannot be filled in.
    """
    try:
        return render_issue(report.to_json(), repro, form)
    except (FormError, ValueError) as error:
        raise build_refusal(FormError(str(error))) from None


def update_checks(names: Iterable[str]) -> tuple[str, ...]:
    """Tells the report folders among `names` what the store knows of other releases; returns notes
    for people.

    Whatever cannot be told is a note and never an error: the check itself is done.
    """
    notes = []
    for name in names:
        folder = Path(name)
        if (folder / REPORT).is_file() and (folder / ISSUE).is_file():
            try:
                notes += _add_checks(folder)
            except (BugreportError, OSError) as error:
                notes.append(f"{folder} was not told: {error}")
    return tuple(notes)


def _add_checks(folder: Path) -> list[str]:
    report, repro, issue = _read_folder(folder)
    rows = _list_checks(compute_key(repro))
    known = {**issue.releases, **{row.torch: _describe_check(row, runs) for row, runs in rows}}
    if known == issue.releases:
        return []
    form = load_own_form(folder, issue.form)
    is_ours = form is not None and _is_untouched(folder)
    fresh = replace(
        report,
        issue=replace(issue, releases=known),
        labels=_choose_labels(report, known, form),
        releases=tuple(row for row, _ in rows),
    )
    files = {}
    if form is not None and is_ours:
        files[ISSUE] = _fill_in(fresh, repro, form)
        test = folder / TEST
        text = test.read_text(encoding="utf-8") if test.is_file() else ""
        result = lint(collect_texts(form, files[ISSUE], repro, text, fresh))
        fresh = replace(fresh, lint=build_section(LintSection, result.to_section_json()))
    files[PAGE] = render_page(fresh.to_json(), repro, _read_cells(folder))
    files[REPORT] = fresh.dumps()
    machine = issue.environment.to_json()
    public = list_public_values(machine, machine.get("git"))
    commits = [row.git for row, _ in rows if row.git]
    recheck(folder, files, allowed=[compute_key(repro), *public, *commits])
    if is_ours:  # before it is replaced: whoever is killed in between has not edited it
        texts = ((folder / ISSUE).read_text(encoding="utf-8"), files[ISSUE])
        write_private(folder / PRIVATE / WRITTEN, "\n".join(map(_compute_digest, texts)))
    for name, text in files.items():
        write_atomically(folder / name, text)
    if not is_ours:
        return [f"{folder / ISSUE} was edited and stays as it is; {PAGE} has the releases"]
    return [f"{folder / ISSUE} and {PAGE} have the releases now"]


def _is_untouched(folder: Path) -> bool:
    try:
        written = (folder / PRIVATE / WRITTEN).read_text(encoding="utf-8").split()
        return _compute_digest((folder / ISSUE).read_text(encoding="utf-8")) in written
    except OSError:
        return False


def _compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _list_checks(key: str) -> list[tuple[ReleaseRow, tuple[int, int]]]:
    """What a repro showed the last time on each release, and in how many of how many runs."""
    with open_store() as store:
        rows = store.execute(
            "SELECT torch, outcome, hits, runs, git FROM checks WHERE key = ? AND outcome IN"
            " ('reproduces', 'fixed', 'different') ORDER BY time, id",
            (key,),
        ).fetchall()
    last = {str(row["torch"]): row for row in rows}
    return [
        (
            ReleaseRow(torch=torch, outcome=CheckOutcome(row["outcome"]), git=row["git"]),
            (row["hits"], row["runs"]),
        )
        for torch, row in last.items()
    ]


def _describe_check(row: ReleaseRow, runs: tuple[int, int]) -> str:
    """The same in words that `templates.release_order` reads, with the commit's first digits."""
    commit = f" (commit {row.git[:_COMMIT]})" if row.git else ""
    match row.outcome:
        case CheckOutcome.REPRODUCES:
            return f"fails, {runs[0]} of {runs[1]} runs{commit}"
        case CheckOutcome.FIXED:
            return f"right{commit}"
        case CheckOutcome.DIFFERENT:
            return f"another failure{commit}"
        case CheckOutcome.CANNOT_JUDGE:
            return "cannot be judged"
    assert_never(row.outcome)


def _choose_labels(
    report: Report, releases: Mapping[str, str], form: IssueForm | None
) -> tuple[str, ...]:
    """The labels, with that of a regression where an earlier release turned out to be right."""
    right = [{"torch": name} for name, seen in releases.items() if is_right(seen)]
    if not find_regressions(report.torch, right) or REGRESSION in report.labels or form is None:
        return report.labels
    return (*report.labels, *form.allow([REGRESSION]))


def _read_folder(folder: Path) -> tuple[Report, str, IssueSection]:
    """The report, its repro and its issue."""
    try:
        report, repro = load_report(folder), (folder / REPRO).read_text(encoding="utf-8")
    except (OSError, ValueError):
        report = None
    if report is None:
        raise UsageError(f"{folder} is not a report folder; name one that `bugreport create` wrote")
    if report.repro is None or report.issue is None:
        raise UsageError(f"{folder} holds no report that could be written again; create it anew")
    return report, repro, report.issue


def _read_cells(folder: Path) -> list[list[float | None]]:
    """The cells of the error map, which only the private folder has."""
    for name in ("pictures.json", "exhibit.json"):  # the second is of reports of version 1
        with contextlib.suppress(OSError, ValueError, KeyError):
            data = json.loads((folder / PRIVATE / name).read_text(encoding="utf-8"))
            return list(data["cells"])
    return []
