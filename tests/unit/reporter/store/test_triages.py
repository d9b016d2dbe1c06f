"""A triage is remembered until its issue changes."""

from __future__ import annotations

from pathlib import Path

from reporter.store import triages
from reporter.store.database import open_store


def test_a_triage_is_known_until_its_issue_changes(tmp_path: Path) -> None:
    first = {"status": "reproduces", "issue": {"title": "T"}, "more": [1]}
    second = {"status": "no_bug", "issue": None}
    with open_store(tmp_path / "store") as store:
        assert triages.find_triage(store, "a/b#1", "2.13", "monday") is None
        triages.remember(store, "a/b#1", "2.13", "monday", first)
        assert triages.find_triage(store, "a/b#1", "2.13", "monday") == first
        for other in (
            ("a/b#2", "2.13", "monday"),
            ("a/b#1", "2.14", "monday"),
            ("a/b#1", "2.13", "tuesday"),
        ):
            assert triages.find_triage(store, *other) is None
        row = store.execute("SELECT status, title, time FROM triages").fetchone()
        assert row[:2] == ("reproduces", "T") and row["time"]
        triages.remember(store, "a/b#1", "2.13", "tuesday", second)
        assert triages.find_triage(store, "a/b#1", "2.13", "tuesday") == second
        rows = store.execute("SELECT status, title FROM triages").fetchall()
        assert [tuple(row) for row in rows] == [("no_bug", "None")]
