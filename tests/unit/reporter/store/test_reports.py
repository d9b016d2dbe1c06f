"""What the store knows of a report."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from reporter.core.errors import UsageError
from reporter.core.kinds import Kind, Layer
from reporter.report.fingerprint import Fingerprint
from reporter.report.reading import read_report
from reporter.report.sections.report_document import Report
from reporter.report.sections.verdict import Verdict
from reporter.store import reports
from reporter.store.database import open_store
from reporter.store.reports import StoredReport

PRINT = Fingerprint(("inductor", "E", "torch/a.py:f"))
ONE = StoredReport(
    "aa11", "2026-01-01", "/f", "T", Kind.CRASH, Layer.INDUCTOR, "s", "v1:x", "2.13", "r"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(path: Path) -> Iterator[sqlite3.Connection]:
    with open_store(path) as connection:
        yield connection


def test_a_report_is_described_by_its_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    document = {
        "schema_version": 1,
        "verdict": {
            "kind": "crash",
            "layer": "inductor",
            "is_bug": True,
            "summary": "It fails.",
            "signature": "crash · inductor",
        },
        "fingerprint": PRINT.to_section().to_json(),
        "torch": "2.13.0",
    }
    before = datetime.now(timezone.utc).replace(microsecond=0)
    row = reports.build_stored_report(
        Path("report"), read_report(document, "report"), "A title", "print()"
    )
    assert before <= datetime.fromisoformat(row.created) <= datetime.now(timezone.utc)
    assert replace(row, created="") == StoredReport(
        key=hashlib.sha256(b"print()").hexdigest()[:16],
        created="",
        folder=str(tmp_path / "report"),
        title="A title",
        kind="crash",
        layer="inductor",
        signature="crash · inductor",
        fingerprint=PRINT.value,
        torch="2.13.0",
        repro="print()",
    )


def test_what_a_report_does_not_say_is_left_empty() -> None:
    only = Report(Verdict(Kind.HANG, Layer.DYNAMO, True, "It does not end."))
    row = reports.build_stored_report(Path("/f"), only, "T", "r")
    assert (row.kind, row.layer) == ("hang", "dynamo")
    assert (row.signature, row.fingerprint, row.torch) == ("", "", "")


def test_a_report_that_is_written_again_keeps_when_it_was_first_seen(
    path: Path, store: sqlite3.Connection
) -> None:
    reports.save_report(ONE, path)
    assert reports.list_reports(store) == [ONE]
    again = StoredReport(
        "aa11", "2027", "/g", "U", Kind.HANG, Layer.DYNAMO, "t", "v1:y", "2.14", "r"
    )
    reports.save_report(again, path)
    assert reports.list_reports(store) == [replace(again, created=ONE.created)]


def test_the_newest_report_comes_first(path: Path, store: sqlite3.Connection) -> None:
    for key, created in (("b", "2026-01-02"), ("c", "2026-01-01"), ("a", "2026-01-02")):
        reports.save_report(replace(ONE, key=key, created=created), path)
    assert [report.key for report in reports.list_reports(store)] == ["a", "b", "c"]


def test_reports_are_found_by_the_beginning_of_their_key(
    path: Path, store: sqlite3.Connection
) -> None:
    for key in ("aa11", "aa22", "bb11"):
        reports.save_report(replace(ONE, key=key), path)
    for beginning, count in (("aa", 2), ("AA1", 1), ("b", 1), ("11", 0), ("a_1", 0), ("%11", 0)):
        assert len(reports.find_reports(store, beginning)) == count, beginning
    assert (
        reports.find_reports(store, "%b")[0].key
        == reports.find_reports(store, "_bb")[0].key
        == "bb11"
    )


def test_reports_with_the_same_fingerprint_are_alike_and_none_is_like_itself(
    path: Path, store: sqlite3.Connection
) -> None:
    for key, value in (("a", "v1:x"), ("b", "v1:x"), ("c", "v1:y"), ("d", ""), ("e", "")):
        reports.save_report(replace(ONE, key=key, fingerprint=value), path)
    assert [report.key for report in reports.find_alike(store, replace(ONE, key="a"))] == ["b"]
    assert reports.find_alike(store, replace(ONE, key="d", fingerprint="")) == []


def test_a_row_with_a_kind_of_another_version_is_named(
    path: Path, store: sqlite3.Connection
) -> None:
    reports.save_report(ONE, path)
    store.execute("UPDATE reports SET kind = 'slowness'")
    with pytest.raises(UsageError, match="the report aa11 of the store .*'slowness' is no Kind"):
        reports.list_reports(store)
    store.execute("UPDATE reports SET kind = '', layer = ''")
    assert [(row.kind, row.layer) for row in reports.list_reports(store)] == [(None, None)]
