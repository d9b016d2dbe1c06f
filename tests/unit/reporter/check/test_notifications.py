"""An issue hears of a change once, and not from two sides."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from reporter.check.notifications import (
    Comment,
    IssueState,
    find_due_comments,
    is_confirmed_by,
    post_comments,
)
from reporter.check.work import CheckResult
from reporter.core.errors import CannotJudgeError
from reporter.store.database import open_store
from tests.support.checking import checked


class Tracker:
    """Notes what it is asked to say; `heard` is what others have said lately, `closed` are the
    issues that are closed.
    """

    def __init__(self, heard: str = "", closed: tuple[int, ...] = (), fails: bool = False) -> None:
        self.said: list[tuple[str, int, str]] = []
        self._heard, self._closed, self._fails = heard, closed, fails

    def read_issue_state(self, place: str, number: int, since: datetime) -> IssueState:
        return IssueState(number in self._closed, (self._heard,) if self._heard else ())

    @contextlib.contextmanager
    def lock(self, comment: Comment) -> Iterator[None]:
        yield

    def say(self, comment: Comment) -> str:
        if self._fails:
            raise CannotJudgeError("no connection")
        self.said.append((comment.address, comment.number, comment.text))
        return f"https://o/{comment.address}/{comment.number}"


def result(key: str, torch: str, outcome: Any, **more: Any) -> CheckResult:
    return checked(key, torch, outcome, detail="E: m", runs=(2, 2), git="c0ffee", **more)


def filed(store: Any, key: str, number: int) -> None:
    store.execute(
        "INSERT INTO filings VALUES (?, 'o/r', 'confirmed', ?, '', '', '')", (key, number)
    )


def night(store: Any, tracker: Tracker, *results: CheckResult) -> list[str]:
    """What one night adds to the issues: the first line of each comment."""
    before = len(tracker.said)
    post_comments(store, tracker, find_due_comments(store, tracker, results))
    return [text.splitlines()[0] for _, _, text in tracker.said[before:]]


def test_each_change_of_state_is_said_once(tmp_path: Path) -> None:
    tracker = Tracker()
    with open_store(tmp_path / "s") as store:
        filed(store, "a", 7)

        def now(*results: CheckResult) -> list[str]:
            return night(store, tracker, *results)

        # no news, and an issue that nobody filed
        assert now(result("a", "2.13.0", "reproduces"), result("c", "2.13.0", "fixed")) == []
        # the newest release counts, as versions go and not as words do
        gone = (
            "This no longer reproduces on torch `2.14.0` (`c0ffee`): 2 of 2 runs of the repro pass."
        )
        assert now(result("a", "2.9.0", "reproduces"), result("a", "2.14.0", "fixed")) == [gone]
        assert tracker.said[0][:2] == ("o/r", 7)
        assert "<!-- bugreport-state: a 0 fixed -->" in tracker.said[0][2]
        assert "by the tool bugreport" in tracker.said[0][2]
        assert now(result("a", "2.14.0", "fixed")) == []
        assert now(result("a", "2.15.0", "cannot_judge"), result("a", "2.15.1", "different")) == []
        again = "This reproduces again on torch `2.16.0` (`c0ffee`): `E: m`"
        assert now(result("a", "2.16.0", "reproduces")) == [again]
        assert now(result("a", "2.17.0", "fixed"))[0].startswith("This no longer reproduces")
        assert [text.split("state: ")[1] for _, _, text in tracker.said] == [
            "a 0 fixed -->\n",
            "a 1 reproduces -->\n",
            "a 2 fixed -->\n",
        ]


def test_an_issue_that_was_closed_too_early_hears_that_it_still_reproduces(tmp_path: Path) -> None:
    tracker = Tracker(closed=(7,))
    with open_store(tmp_path / "s") as store:
        filed(store, "a", 7)
        assert night(store, tracker, result("a", "2.14.0", "fixed")) == []
        still = "This still reproduces on torch `2.15.0` (`c0ffee`): `E: m`"
        assert night(store, tracker, result("a", "2.15.0", "reproduces")) == [still]
        assert night(store, tracker, result("a", "2.15.0", "reproduces")) == []


def test_the_issue_that_a_program_was_taken_from_is_told(tmp_path: Path) -> None:
    tracker = Tracker()
    with open_store(tmp_path / "s") as store:
        assert night(store, tracker, result("k", "2.15.0", "fixed", issue="github.x.org/o/r#3"))
    assert tracker.said[0][:2] == ("github.x.org/o/r", 3)


def test_nothing_is_said_while_somebody_else_has_just_said_so(tmp_path: Path) -> None:
    tracker = Tracker(heard="Fixed on main, I cannot reproduce it any more.")
    with open_store(tmp_path / "s") as store:
        filed(store, "b", 8)
        assert night(store, tracker, result("b", "2.16.0", "fixed")) == []
        silent = Tracker()
        assert night(store, silent, result("b", "2.17.0", "fixed")) == []  # it was known
        assert len(night(store, silent, result("b", "2.18.0", "reproduces"))) == 1


def test_what_was_not_said_is_said_the_next_time(tmp_path: Path) -> None:
    with open_store(tmp_path / "s") as store:
        filed(store, "a", 7)
        news = [result("a", "2.14.0", "fixed")]
        broken = Tracker(fails=True)
        (told,) = post_comments(store, broken, find_due_comments(store, broken, news))
        assert told.trouble == "no connection" and not told.url
        tracker = Tracker()
        (told,) = post_comments(store, tracker, find_due_comments(store, tracker, news))
        assert told.url == "https://o/o/r/7" and len(tracker.said) == 1


def test_a_process_that_is_late_finds_that_it_was_said(tmp_path: Path) -> None:
    tracker = Tracker()
    with open_store(tmp_path / "s") as store:
        filed(store, "a", 7)
        news = [result("a", "2.14.0", "fixed")]
        early, late = find_due_comments(store, tracker, news), find_due_comments(
            store, tracker, news
        )
        assert (
            len(post_comments(store, tracker, early)) == 1
            and post_comments(store, tracker, late) == []
        )
    assert len(tracker.said) == 1


#: A comment, and what it confirms: nothing where it says both or neither.
COMMENTS = [
    ("I can still reproduce this on 2.14", "reproduces"),
    ("Still fails on nightly.", "reproduces"),
    ("Same error here with CUDA 12.6", "reproduces"),
    ("Repros on main as of today", "reproduces"),
    ("Confirmed, it reproduces on my machine.", "reproduces"),
    ("It no longer reproduces for me.", "fixed"),
    ("I can't reproduce this any more", "fixed"),
    ("could not repro on the latest nightly, closing", "fixed"),
    ("This was fixed by #12345.", "fixed"),
    ("works for me now", "fixed"),
    ("<!-- bugreport-state: abc 3 fixed -->", "fixed"),
    ("<!-- bugreport-state: abc 3 reproduces -->", "reproduces"),
    ("It works on 2.5 and fails on 2.6", None),
    ("Can you share the versions?", None),
    ("> I can still reproduce this\n\nWhich GPU?", None),
    ("Try this:\n```python\nassert still_fails  # cannot reproduce\n```", None),
    ("Please take a look, @somebody", None),
]


@pytest.mark.parametrize(("text", "what"), COMMENTS)
def test_a_comment_confirms_one_of_two_states_or_neither(text: str, what: str | None) -> None:
    assert [is_confirmed_by(outcome, text) for outcome in ("reproduces", "fixed")] == [
        what == "reproduces",
        what == "fixed",
    ]


def test_a_release_before_the_reports_own_is_no_news(tmp_path: Path) -> None:
    tracker = Tracker()
    with open_store(tmp_path / "s") as store:
        filed(store, "a", 7)
        store.execute(
            "INSERT INTO reports VALUES ('a', '', '', '', '', '', '', '', '2.6.0+cpu', '')"
        )
        # a bug that came with 2.6.0 has not gone since it is not in 2.4.0
        assert night(store, tracker, result("a", "2.4.0", "fixed")) == []
        assert len(night(store, tracker, result("a", "2.14.0", "fixed"))) == 1
        # nor is it back since it is in the release that it was reported for
        assert night(store, tracker, result("a", "2.6.0", "reproduces")) == []
        assert len(night(store, tracker, result("a", "2.14.0", "reproduces"))) == 1


def test_two_issues_of_a_project_are_both_told(tmp_path: Path) -> None:
    tracker = Tracker()
    with open_store(tmp_path / "s") as store:
        filed(store, "a", 7)
        for _ in range(2):
            night(store, tracker, result("a", "2.14.0", "fixed", issue="o/r#3"))
    assert [number for _, number, _ in tracker.said] == [3, 7]
