"""The states of a filing, as they stand in the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from reporter.store import filings
from reporter.store.database import open_store
from reporter.store.filings import FilingState, KnownIssue


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with open_store(tmp_path / "store") as connection:
        yield connection


def test_a_filing_is_found_by_its_report_and_its_place(store: sqlite3.Connection) -> None:
    assert filings.find_filing(store, "k", "a/b") is None
    filings.set_state(store, "k", "a/b", FilingState.SENT)
    filings.set_state(store, "k", "c/d", FilingState.PLANNED, number=7, url="u", detail="d")
    filings.set_state(store, "l", "a/b", FilingState.UNKNOWN)
    first, second = (filings.find_filing(store, "k", place) for place in ("a/b", "c/d"))
    assert first is not None and second is not None
    assert (first.key, first.address, first.state) == ("k", "a/b", FilingState.SENT)
    assert (first.number, first.url, first.detail) == (None, None, "")
    assert (second.state, second.number, second.url, second.detail) == (
        FilingState.PLANNED,
        7,
        "u",
        "d",
    )
    assert filings.find_filing(store, "l", "c/d") is None
    assert {item.address for item in filings.list_filings(store, "k")} == {"a/b", "c/d"}
    assert len(filings.list_filings(store)) == 3 and filings.list_filings(store, "none") == []


def test_the_next_state_takes_the_place_of_the_last_and_its_history_stays(
    store: sqlite3.Connection,
) -> None:
    filings.set_state(store, "k", "a/b", FilingState.SENT, detail="first")
    filings.set_state(store, "k", "a/b", FilingState.CONFIRMED, number=3, url="u", detail="found")
    now = filings.find_filing(store, "k", "a/b")
    assert now is not None and (now.state, now.number, now.detail) == (
        FilingState.CONFIRMED,
        3,
        "found",
    )
    steps = filings.list_history(store, "k")
    assert [step[1:] for step in steps] == [("a/b", "sent", "first"), ("a/b", "confirmed", "found")]
    assert steps[1][0] == now.updated and filings.list_history(store, "l") == []


def test_the_oldest_change_comes_first(store: sqlite3.Connection) -> None:
    for place, updated in (("b/b", "2026-01-02"), ("c/c", "2026-01-01"), ("a/a", "2026-01-02")):
        filings.set_state(store, "k", place, FilingState.SENT)
        store.execute("UPDATE filings SET updated = ? WHERE repository = ?", (updated, place))
    assert [item.address for item in filings.list_filings(store)] == ["c/c", "a/a", "b/b"]


def test_when_a_report_first_left_is_remembered(store: sqlite3.Connection) -> None:
    assert filings.find_first_sending(store, "k", "a/b") is None
    filings.set_state(store, "k", "a/b", FilingState.PLANNED)
    assert filings.find_first_sending(store, "k", "a/b") is None
    filings.set_state(store, "k", "a/b", FilingState.SENT)
    filings.set_state(store, "k", "a/b", FilingState.UNKNOWN)
    filings.set_state(store, "k", "a/b", FilingState.SENT)
    assert filings.find_first_sending(store, "k", "a/b") == filings.list_history(store, "k")[1][0]
    assert filings.find_first_sending(store, "k", "c/d") is None


def test_what_was_sent_and_not_answered_is_an_open_question() -> None:
    assert [state for state in FilingState if state.is_open_question] == [
        FilingState.SENT,
        FilingState.UNKNOWN,
    ]


def test_an_issue_is_known_as_the_tracker_last_told_it(store: sqlite3.Connection) -> None:
    assert filings.load_issue(store, "a/b", 1) is None
    before = KnownIssue("a/b", 1, "T", "open", "", ("x", "y"), "2026-01-01")
    after = KnownIssue("a/b", 1, "U", "closed", "completed", (), "2026-01-02")
    filings.remember_issue(store, before)
    filings.remember_issue(store, KnownIssue("a/b", 2, "other", "open", "", (), ""))
    assert filings.load_issue(store, "a/b", 1) == before
    filings.remember_issue(store, after)
    assert filings.load_issue(store, "a/b", 1) == after
    assert filings.load_issue(store, "c/d", 1) is None


@pytest.mark.parametrize(
    ("place", "repository", "beside"),
    [
        ("a/b", "a/b", False),
        ("host/a/b", "host/a/b", False),
        ("a/b#12", "a/b", False),
        ("a/b#12/log", "a/b", True),
        ("host/a/b#1/state/2.6#3", "host/a/b", True),
    ],
)
def test_a_place_names_its_project_and_may_be_beside_an_issue(
    place: str, repository: str, beside: bool
) -> None:
    assert filings.name_repository(place) == repository
    assert filings.is_beside(place) is beside
