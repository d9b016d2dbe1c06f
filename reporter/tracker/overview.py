"""`list`, `show`, `sync`: what the store knows of each report, and what the tracker says of its
issue today.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reporter.core.errors import AuthenticationError, BugreportError, UsageError
from reporter.core.json_values import Json
from reporter.core.kinds import CheckOutcome
from reporter.report.folder import REPORT, REPRO
from reporter.store.database import open_store
from reporter.store.filings import (
    Filing,
    FilingStep,
    KnownIssue,
    is_beside,
    list_filings,
    list_history,
    load_issue,
    name_repository,
)
from reporter.store.reports import StoredReport, compute_key, find_alike, find_reports, list_reports
from reporter.tracker.sync import refresh

SCHEMA_VERSION = 1
_KEY_SHOWN = 8


@dataclass(frozen=True)
class FilingStatus:
    """A filing with what the tracker last said of its issue."""

    filing: Filing
    issue: KnownIssue | None

    @property
    def name(self) -> str:
        """`pytorch/pytorch#12`, or the project and the state of a filing that has not arrived."""
        if self.filing.number is None:
            return f"{name_repository(self.filing.address)} ({self.filing.state.value})"
        return f"{name_repository(self.filing.address)}#{self.filing.number}"

    @property
    def status(self) -> str:
        """What has become of the issue, in a word or two."""
        if self.issue is None:
            return "filed" if self.filing.number is not None else self.filing.state.value
        return " ".join(word for word in (self.issue.state, self.issue.reason) if word)

    def to_json(self) -> Json:
        """The entry of the document."""
        issue = self.issue
        return {
            "place": self.filing.address,
            "state": self.filing.state.value,
            "number": self.filing.number,
            "url": self.filing.url,
            "detail": self.filing.detail,
            "updated": self.filing.updated,
            "issue": (
                {
                    "title": issue.title,
                    "state": issue.state,
                    "reason": issue.reason or None,
                    "labels": list(issue.labels),
                    "synced": issue.synced,
                }
                if issue
                else None
            ),
        }


@dataclass(frozen=True)
class LastCheck:
    """The latest check of a report on one release."""

    release: str
    torch: str
    outcome: CheckOutcome
    time: str


@dataclass(frozen=True)
class ReportOverview:
    """A report with everything that hangs on its key."""

    report: StoredReport
    filings: tuple[FilingStatus, ...]
    checks: tuple[LastCheck, ...]
    history: tuple[FilingStep, ...] = ()

    @property
    def is_there(self) -> bool:
        """Whether the folder still is where it was written."""
        return (Path(self.report.folder) / REPORT).is_file()

    def to_json(self) -> Json:
        """The entry of the document."""
        report = self.report
        return {
            "key": report.key,
            "created": report.created,
            "folder": report.folder,
            "folder_exists": self.is_there,
            "title": report.title,
            "kind": report.kind or "",
            "layer": report.layer or "",
            "signature": report.signature,
            "fingerprint": report.fingerprint or None,
            "torch": report.torch,
            "filings": [filing.to_json() for filing in self.filings],
            "checks": [vars(check) for check in self.checks],
        }


@dataclass(frozen=True)
class Listing:
    """All reports, the newest first; `changes` and `trouble` are what `sync` met."""

    known: tuple[ReportOverview, ...]
    changes: tuple[str, ...] = ()
    trouble: tuple[str, ...] = ()
    exit_code: int = 0

    def to_json(self) -> Json:
        """The document of --json."""
        document: Json = {
            "schema_version": SCHEMA_VERSION,
            "reports": [item.to_json() for item in self.known],
        }
        if self.changes or self.trouble:
            document.update(changes=list(self.changes), trouble=list(self.trouble))
        return document

    def summarize(self) -> list[str]:
        """A table for people."""
        if not self.known:
            return ["there is no report yet; `bugreport create SCRIPT` writes one"]
        lines = [*self.changes, *(f"note: {line}" for line in self.trouble)]
        return [*lines, *([""] if lines else []), *_render_table(self.known)]


@dataclass(frozen=True)
class ReportDetails:
    """One report, in full."""

    known: ReportOverview
    alike: tuple[StoredReport, ...] = field(default=())
    exit_code: int = 0

    def to_json(self) -> Json:
        """The document of --json."""
        steps = [step._asdict() for step in self.known.history]
        same = [{"key": item.key, "title": item.title} for item in self.alike]
        entry = self.known.to_json()
        return {"schema_version": SCHEMA_VERSION, **entry, "history": steps, "alike": same}

    def summarize(self) -> list[str]:
        """One fact a line."""
        report = self.known.report
        gone = "" if self.known.is_there else "  (no longer there)"
        lines = [
            report.title,
            f"key:          {report.key}",
            f"folder:       {report.folder}{gone}",
            f"created:      {report.created}",
            f"verdict:      {report.kind or ''} in {report.layer or ''}",
            f"torch:        {report.torch}",
            f"fingerprint:  {report.fingerprint or 'none, too little is known of where it fails'}",
        ]
        for item in self.known.filings:
            lines.append(
                f"issue:        {item.name}, {item.status}  {item.filing.url or ''}".rstrip()
            )
            if item.issue is not None and item.issue.labels:
                lines.append(f"  labels:     {', '.join(item.issue.labels)}")
        if not self.known.filings:
            lines.append(
                f"issue:        none; `bugreport file {report.folder} -R OWNER/REPO` files it"
            )
        lines += [f"checked:      {c.release}: {c.outcome} ({c.time})" for c in self.known.checks]
        lines += [f"like:         {item.key[:_KEY_SHOWN]}  {item.title}" for item in self.alike]
        lines += [
            f"{step.time}  {step.place}: {step.state}"
            + (f" ({step.detail})" if step.detail else "")
            for step in self.known.history
        ]
        return lines


def build_listing() -> Listing:
    """All reports of the store.

    Raises:
        UsageError: it cannot be used.
    """
    with open_store() as store:
        return Listing(tuple(_build_overview(store, report) for report in list_reports(store)))


def show(name: str) -> ReportDetails:
    """The report that a folder or the beginning of a key names.

    Raises:
        UsageError: there is none or several.
    """

    with open_store() as store:
        report = _find(store, name)
        known = _build_overview(store, report, with_history=True)
        return ReportDetails(known, tuple(find_alike(store, report)))


def sync() -> Listing:
    """Asks the trackers for every issue that was filed, and looks for those of which that is not
    known.

    Trouble with one issue is a line, so that the others are still asked.

    Raises:
        AuthenticationError: no question could be asked for want of a token.
        UsageError: the store cannot be used.
    """

    changes: list[str] = []
    trouble: list[str] = []
    refused: AuthenticationError | None = None
    answers = 0
    with open_store() as store:
        everything = [item for item in list_filings(store) if not is_beside(item.address)]
    for item in everything:
        try:
            changes += refresh(item)
            answers += 1
        except AuthenticationError as error:
            refused = refused or error
            trouble.append(f"{item.address}: {error}")
        except BugreportError as error:
            trouble.append(f"{item.address}: {error}")
    if refused is not None and not answers:
        raise refused
    found = build_listing()
    code = 125 if everything and not answers else 0
    asked = f"{answers} of {len(everything)} filings asked about, {len(changes)} changed"
    return Listing(found.known, (*changes, asked), tuple(trouble), code)


def _find(store: sqlite3.Connection, name: str) -> StoredReport:
    path = Path(name)
    if name and path.is_dir():
        try:
            key = compute_key((path / REPRO).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise UsageError(
                f"{name} is not a report folder; name one, or a key of `bugreport list`"
            ) from None
    else:
        key = name
    matches = find_reports(store, key) if key else []
    if len(matches) == 1:
        return matches[0]
    if matches:
        keys = ", ".join(item.key[:12] for item in matches[:5])
        raise UsageError(f"{name!r} is the beginning of several keys ({keys}); give more of it")
    raise UsageError(f"no report of this machine is called {name!r}; see `bugreport list`")


def _build_overview(
    store: sqlite3.Connection, report: StoredReport, with_history: bool = False
) -> ReportOverview:
    found = tuple(
        FilingStatus(item, load_issue(store, name_repository(item.address), item.number or 0))
        for item in list_filings(store, report.key)
        if not is_beside(item.address)
    )
    rows = store.execute(
        "SELECT release, torch, outcome, MAX(time) AS time FROM checks WHERE key = ? GROUP BY"
        " release ORDER BY release",
        (report.key,),
    )
    checks = tuple(
        LastCheck(row["release"], row["torch"], CheckOutcome(row["outcome"]), row["time"])
        for row in rows
    )
    return ReportOverview(
        report, found, checks, tuple(list_history(store, report.key)) if with_history else ()
    )


def _render_table(known: Sequence[ReportOverview]) -> list[str]:
    """Fixed columns, the title last and as long as the terminal is wide."""
    import shutil

    rows = [("KEY", "CREATED", "VERDICT", "TORCH", "ISSUE", "STATUS", "CHECKED", "TITLE")]
    for item in known:
        report = item.report
        last = max(item.checks, key=lambda check: check.time, default=None)
        rows.append(
            (
                report.key[:_KEY_SHOWN],
                report.created[:10],
                f"{report.kind or ''}/{report.layer or ''}",
                report.torch,
                ", ".join(filing.name for filing in item.filings) or "-",
                ", ".join(filing.status for filing in item.filings) or "-",
                f"{last.release} {last.outcome}" if last else "-",
                report.title,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    room = shutil.get_terminal_size((200, 24)).columns - sum(widths) - 2 * len(widths)
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        title = row[-1] if room < 20 or len(row[-1]) <= room else row[-1][: room - 1] + "…"
        lines.append("  ".join([*cells, title]).rstrip())
    return lines
