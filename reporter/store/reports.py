"""What the store knows of a report is enough to find its folder, its issue and its like; the folder
stays the truth.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass, fields
from pathlib import Path

from reporter.core.kinds import Kind, Layer, read_word
from reporter.report.fingerprint import read_section
from reporter.report.sections.report_document import Report
from reporter.store.database import format_now, open_store


@dataclass(frozen=True)
class StoredReport:
    """A written report.

    `key` marks its issue, `repro` is the text of repro.py, `created` is UTC in ISO 8601. `kind` and
    `layer` are None where its report tells none.
    """

    key: str
    created: str
    folder: str
    title: str
    kind: Kind | None
    layer: Layer | None
    signature: str
    fingerprint: str
    torch: str
    repro: str


def compute_key(repro: str) -> str:
    """The key of a report: the text of its repro, whose every byte was tested."""
    return hashlib.sha256(repro.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def build_stored_report(folder: Path, report: Report, title: str, repro: str) -> StoredReport:
    """The row of a report folder.

    Args:
        title: the first line of issue.md.
    """
    return StoredReport(
        key=compute_key(repro),
        created=format_now(),
        folder=str(folder.absolute()),
        title=title,
        kind=report.verdict.kind,
        layer=report.verdict.layer,
        signature=report.verdict.signature,
        fingerprint=read_section(report.fingerprint).value,
        torch=report.torch,
        repro=repro,
    )


def save_report(report: StoredReport, path: Path | None = None) -> None:
    """Notes a report, or where it lies now; when it was first seen stays.

    Raises:
        UsageError: the store cannot be used.
    """
    with open_store(path) as store:
        store.execute(
            """INSERT INTO reports (key, created, folder, title, kind, layer, signature,
            fingerprint, torch, repro)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET folder =
            excluded.folder,
            title = excluded.title, kind = excluded.kind, layer = excluded.layer, signature =
            excluded.signature,
            fingerprint = excluded.fingerprint, torch = excluded.torch""",
            (
                report.key,
                report.created,
                report.folder,
                report.title,
                report.kind or "",
                report.layer or "",
                report.signature,
                report.fingerprint,
                report.torch,
                report.repro,
            ),
        )


def list_reports(store: sqlite3.Connection) -> list[StoredReport]:
    """All reports, the newest first.

    Raises:
        UsageError: a row is of another version.
    """
    return [
        _read_row(row) for row in store.execute("SELECT * FROM reports ORDER BY created DESC, key")
    ]


def find_reports(store: sqlite3.Connection, beginning: str) -> list[StoredReport]:
    """The reports whose key begins like this.

    Raises:
        UsageError: a row is of another version.
    """
    pattern = beginning.lower().replace("%", "").replace("_", "") + "%"
    rows = store.execute("SELECT * FROM reports WHERE key LIKE ? ORDER BY created DESC", (pattern,))
    return [_read_row(row) for row in rows]


def find_alike(store: sqlite3.Connection, report: StoredReport) -> list[StoredReport]:
    """Other reports with the same fingerprint. One without a fingerprint is like no other.

    Raises:
        UsageError: a row is of another version.
    """
    if not report.fingerprint:
        return []
    rows = store.execute(
        "SELECT * FROM reports WHERE fingerprint = ? AND key != ? ORDER BY created DESC",
        (report.fingerprint, report.key),
    )
    return [_read_row(row) for row in rows]


def _read_row(row: sqlite3.Row) -> StoredReport:
    source = f"the report {row['key']} of the store"
    values = {item.name: row[item.name] for item in fields(StoredReport)}
    values |= {
        "kind": read_word(Kind, row["kind"], source),
        "layer": read_word(Layer, row["layer"], source),
    }
    return StoredReport(**values)
