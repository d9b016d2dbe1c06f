"""The fault matrix: whatever goes wrong, there is never a second issue, none is lost, and the
sentence says what is known.

Each row strikes one attempt to file; the same command is then given again against a healthy
tracker. After the first attempt there is at most one issue, after the second exactly one.
"""

from __future__ import annotations

import contextlib
import re
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from reporter.core.errors import UsageError
from reporter.store.database import open_store
from reporter.store.filings import FilingState
from reporter.store.locks import lock, name_lock_file
from reporter.store.reports import compute_key
from reporter.tracker import delivery
from reporter.tracker.delivery import DeliveredPost
from reporter.tracker.outcome import FilingResult
from reporter.tracker.posts import IssuePost
from tests.support.github.submitter import WORDS, RecordedPrompt, Waits, attempt, run_file, state_of
from tests.support.github.tracker import Fault, Tracker

CREATE, LIST, SEARCH = "issues/create", "issues/list-for-repo", "search/issues-and-pull-requests"
GET, REPO = "issues/get", "repos/get"
SOON = {"Retry-After": "7"}
#: In the year 2100.
LATER = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"}


NEXT = "the same command looks for it on the tracker before it sends anything"


@dataclass(frozen=True)
class Row:
    """A fault and what has to come of it: exit code (0: it was filed all the same), words of the
    sentence, state, POSTs.

    `issues` is the number of issues after the first attempt.
    """

    name: str
    faults: tuple[dict[str, Any], ...]
    code: int
    says: str
    state: FilingState
    posts: int
    issues: int


def create(way: str, **more: Any) -> dict[str, Any]:
    return {"operation": CREATE, "way": way, **more}


def status(code: int, message: str = "", operation: str = CREATE, **more: Any) -> dict[str, Any]:
    return {"operation": operation, "status": code, "message": message, **more}


DOWN = {"operation": LIST, "status": 503, "times": 1000, "skip": 2}
NO, UNSURE, DONE = FilingState.PLANNED, FilingState.UNKNOWN, FilingState.CONFIRMED
MATRIX = [
    Row(
        "reset before",
        (create("reset"),),
        125,
        "connection to github.com broke.*still not there",
        UNSURE,
        1,
        0,
    ),
    Row("reset after", (create("reset", processed=True),), 0, "", DONE, 1, 1),
    Row(
        "timeout before",
        (create("stall"),),
        125,
        "no answer within 120 seconds.*still not there after 240 seconds",
        UNSURE,
        1,
        0,
    ),
    Row("timeout after", (create("stall", processed=True),), 0, "", DONE, 1, 1),
    Row("created late", (create("stall", late=2),), 0, "", DONE, 1, 1),
    Row("truncated JSON", (create("truncate", processed=True),), 0, "", DONE, 1, 1),
    Row("invalid JSON", (create("garble", processed=True),), 0, "", DONE, 1, 1),
    Row("empty answer", (create("empty", processed=True),), 0, "", DONE, 1, 1),
    Row("HTML instead of JSON", (create("html", processed=True),), 0, "", DONE, 1, 1),
    Row("401", (status(401, "Bad credentials"),), 4, "refuses the token in GH_TOKEN", NO, 1, 0),
    Row(
        "401 at once",
        (status(401, "Bad credentials", REPO),),
        4,
        "refuses the token in GH_TOKEN",
        NO,
        0,
        0,
    ),
    Row(
        "403 without right",
        (status(403, "Resource not accessible by personal access token"),),
        4,
        "may not do this.*Resource not",
        NO,
        1,
        0,
    ),
    Row(
        "403 archived",
        (status(403, "Repository was archived so is read-only."),),
        2,
        "is archived",
        NO,
        1,
        0,
    ),
    Row(
        "403 single sign-on",
        (status(403, "Resource protected", headers={"X-GitHub-SSO": "required; url=https://x"}),),
        4,
        "single sign-on",
        NO,
        1,
        0,
    ),
    Row(
        "403 rate limit",
        (status(403, "API rate limit exceeded", headers=LATER),),
        125,
        "no more requests before .* UTC",
        NO,
        1,
        0,
    ),
    Row(
        "403 secondary limit, soon over",
        (status(403, "You have exceeded a secondary rate limit", headers=SOON),),
        0,
        "",
        DONE,
        2,
        1,
    ),
    Row("404", (status(404, "Not Found"),), 2, "may not see it", NO, 1, 0),
    Row(
        "404 project",
        (status(404, "Not Found", REPO),),
        2,
        "refused to read pytorch/pytorch",
        NO,
        0,
        0,
    ),
    Row(
        "410",
        (status(410, "Issues are disabled for this repo"),),
        2,
        "the project has no issues",
        NO,
        1,
        0,
    ),
    Row("422", (status(422, "Validation Failed"),), 2, "422 Validation Failed", NO, 1, 0),
    Row("429, soon over", (status(429, "Too Many Requests", headers=SOON),), 0, "", DONE, 2, 1),
    Row(
        "429 twice",
        (status(429, "Too Many Requests", headers=SOON, times=2),),
        125,
        "no more requests",
        NO,
        2,
        0,
    ),
    Row(
        "429, much later",
        (status(429, "Too Many Requests", headers={"Retry-After": "3600"}),),
        125,
        "no more requests",
        NO,
        1,
        0,
    ),
    *(
        Row(
            f"{code} before",
            (status(code, "Server Error"),),
            125,
            "an error of its own.*still not there",
            UNSURE,
            1,
            0,
        )
        for code in (500, 502, 503, 504)
    ),
    *(
        Row(f"{code} after", (status(code, "Server Error", processed=True),), 0, "", DONE, 1, 1)
        for code in (500, 502)
    ),
    Row(
        "reset after, then down",
        (create("reset", processed=True), DOWN),
        125,
        "connection to github.com broke",
        UNSURE,
        1,
        1,
    ),
    Row(
        "502 after, then down",
        (status(502, "", processed=True), DOWN),
        125,
        "error of its own",
        UNSURE,
        1,
        1,
    ),
    Row(
        "cannot look before",
        (status(503, "", LIST, times=1000),),
        125,
        "list the newest issues",
        NO,
        0,
        0,
    ),
    Row(
        "one bad read",
        (status(502, "", LIST), status(503, "", REPO), status(500, "", GET)),
        0,
        "",
        DONE,
        1,
        1,
    ),
    Row(
        "search refused",
        (status(403, "API rate limit exceeded", SEARCH, headers=LATER, times=99),),
        0,
        "",
        DONE,
        1,
        1,
    ),
    Row("search down", (status(503, "", SEARCH, times=99),), 0, "", DONE, 1, 1),
    Row("cannot read back", (status(404, "Not Found", GET),), 0, "", DONE, 1, 1),
]


@pytest.mark.parametrize("row", MATRIX, ids=lambda row: row.name)
def test_no_fault_makes_two_issues_or_loses_one(row: Row, tracker: Tracker, report: Path) -> None:
    tracker.index_lags = True  # as the real one does for minutes
    tracker.faults = [Fault(**fault) for fault in row.faults]
    code, sentence = attempt(report)
    assert code == row.code, sentence
    assert not row.says or re.search(row.says, sentence), sentence
    # what may have happened is said with what is safe to do next
    assert (NEXT in sentence) is (row.state is UNSURE), sentence
    assert tracker.count(CREATE) == row.posts and len(tracker.repo.issues) == row.issues
    assert state_of(report) is (row.state if row.posts else None)
    tracker.faults = []
    code, sentence = attempt(report)
    assert code == 0, sentence
    assert sentence == ("already_filed" if row.issues else "filed")
    assert len(tracker.repo.issues) == 1 and state_of(report) is FilingState.CONFIRMED
    assert tracker.count(CREATE) == row.posts + (0 if row.issues else 1)


def test_what_has_no_answer_is_looked_for_until_it_cannot_be_under_way(
    tracker: Tracker, report: Path, waits: Waits
) -> None:
    """Six pauses in twice the time that an answer may take, with a look before each and one at the
    end.
    """
    tracker.index_lags = True
    tracker.faults = [Fault(**create("reset"))]
    before = tracker.count(LIST)
    assert attempt(report)[0] == 125
    assert waits.all == pytest.approx([40.0] * 6)
    looks = tracker.count(LIST) - before - 2  # before it is shown, and before it is sent
    assert looks == 7


@pytest.mark.parametrize(("hours", "looked_again"), [(1.0, 0), (0.0, 6)])
def test_an_attempt_of_long_ago_cannot_be_under_way_any_more(
    hours: float, looked_again: int, tracker: Tracker, report: Path, waits: Waits
) -> None:
    """The next run waits for what is left of the time that an answer may take."""
    tracker.index_lags = True
    tracker.faults = [Fault(**create("reset"))]
    assert attempt(report)[0] == 125
    sent = datetime.now(timezone.utc) - timedelta(hours=hours)
    with open_store() as store:
        store.execute("UPDATE filings SET updated = ?", (sent.isoformat(),))
    waits.all.clear()
    assert attempt(report) == (0, "filed")
    assert len(waits.all) == looked_again


def test_a_second_process_says_that_it_waits_for_the_first(tracker: Tracker, report: Path) -> None:
    user = RecordedPrompt(is_there=False)
    key = compute_key((report / "repro.py").read_text())
    with contextlib.ExitStack() as first:

        class Released(RecordedPrompt):
            def say(self, line: str) -> None:
                user.say(line)
                if "another process" in str(line) or line is None:
                    first.close()

        path = name_lock_file(report.parent / "store.sqlite3", key, "pytorch/pytorch")
        first.enter_context(lock([path], lambda: None))
        filed = run_file(report, Released(is_there=False), yes=True, summary=WORDS)
    assert isinstance(filed, FilingResult) and filed.action == "filed"
    assert user.said.count("another process is sending this report; waiting") == 1


@pytest.mark.parametrize(
    ("operation", "asked", "waited"),
    [
        (CREATE, {"Retry-After": "7"}, [7.0]),
        (CREATE, {"Retry-After": "60"}, [60.0]),
        (CREATE, {"Retry-After": "61"}, []),
        (LIST, {"Retry-After": "7"}, [7.0]),
        (LIST, {}, []),
    ],
)
def test_a_tracker_that_says_how_soon_to_come_again_is_heard(
    operation: str,
    asked: dict[str, str],
    waited: list[float],
    tracker: Tracker,
    report: Path,
    waits: Waits,
) -> None:
    tracker.faults = [Fault(**status(429, "Too Many Requests", operation, headers=asked))]
    attempt(report)
    assert waits.all == waited


def test_a_report_that_is_filed_is_never_sent_again(tracker: Tracker, report: Path) -> None:
    assert attempt(report) == (0, "filed") and attempt(report) == (0, "already_filed")
    (report.parent / "store.sqlite3").unlink()  # the store is lost, the mark in the issue is not
    assert attempt(report) == (0, "already_filed") and tracker.count(CREATE) == 1


def test_the_matrix_is_as_long_as_we_say() -> None:
    assert len(MATRIX) == 36 and len({row.name for row in MATRIX}) == 36


def test_a_refused_connection_leaves_nothing_to_look_for(
    tracker: Tracker, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("BUGREPORT_GITHUB_API", f"http://127.0.0.1:{free.getsockname()[1]}")
    code, sentence = attempt(report)
    assert code == 125 and "cannot be reached" in sentence and "Connection refused" in sentence
    monkeypatch.setenv("BUGREPORT_GITHUB_API", tracker.base)
    assert attempt(report) == (0, "filed") and len(tracker.repo.issues) == 1


def test_a_clock_that_is_ahead_makes_no_second_issue(
    tracker: Tracker, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt is noted in the year 2061; the tracker created the issue today, and others
    after it.
    """
    tracker.index_lags = True
    tracker.faults = [Fault(CREATE, "reset", processed=True), Fault(**{**DOWN, "times": 1000})]
    assert attempt(report)[0] == 125 and state_of(report) is FilingState.UNKNOWN
    tracker.faults = []
    with open_store() as store:
        store.execute("UPDATE filings SET updated = '2061-01-01T00:00:00.000+00:00'")
        store.execute("UPDATE filing_history SET time = '2061-01-01T00:00:00.000+00:00'")
    for number in range(30):
        tracker.add_issue(f"another one {number}", "text")
    assert attempt(report) == (0, "already_filed")
    assert tracker.count(CREATE) == 1


def test_a_mark_that_was_edited_away_is_not_missed(tracker: Tracker, report: Path) -> None:
    assert attempt(report) == (0, "filed")
    (issue,) = tracker.repo.issues
    body = re.sub(r"<!-- .*? -->", "", issue["body"]).replace("\n", "\r\n")
    assert "bugreport-key" not in body
    issue["body"] = body
    (report.parent / "store.sqlite3").unlink()
    assert attempt(report) == (0, "already_filed") and tracker.count(CREATE) == 1


def test_without_the_index_the_list_goes_further_back(tracker: Tracker, report: Path) -> None:
    """Another machine filed it a hundred issues ago, this one knows nothing of it, and the search
    is down.
    """
    assert attempt(report) == (0, "filed")
    (report.parent / "store.sqlite3").unlink()
    for number in range(105):
        tracker.add_issue(f"another one {number}", "text")
    tracker.faults = [Fault(SEARCH, status=503, times=99)]
    assert attempt(report) == (0, "already_filed") and tracker.count(CREATE) == 1


def test_a_search_that_gave_up_is_no_search(tracker: Tracker, report: Path) -> None:
    """It answers with what it had found until then; the list goes further back, or nothing is
    sent.
    """
    assert attempt(report) == (0, "filed")
    (report.parent / "store.sqlite3").unlink()
    for number in range(105):
        tracker.add_issue(f"another one {number}", "text")
    tracker.search_gives_up = True
    assert attempt(report) == (0, "already_filed") and tracker.count(CREATE) == 1


def test_two_machines_within_the_same_second_are_told(
    tracker: Tracker, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no lock can keep apart is at least said: the other machine's issue appears between our
    look and our request.
    """
    tracker.index_lags = True
    key = compute_key((report / "repro.py").read_text())
    send = IssuePost.send

    def late(post: IssuePost) -> DeliveredPost:
        tracker.add_issue("theirs", f"<!-- bugreport-key: {key} -->")
        return send(post)

    monkeypatch.setattr(IssuePost, "send", late)
    filed = run_file(report)
    assert isinstance(filed, FilingResult) and filed.number == 2
    assert any("at the same time as #1" in note and "close #2" in note for note in filed.notes)


def test_an_issue_that_cannot_be_noted_is_told_and_found_again(
    tracker: Tracker, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full after the request: the address is on the screen, and the next run sends
    nothing.
    """
    tracker.index_lags = True
    set_state = delivery.set_state

    def full(store: Any, key: str, place: str, state: FilingState, **more: Any) -> None:
        if state is FilingState.CONFIRMED:
            raise UsageError("the store cannot be written")
        set_state(store, key, place, state, **more)

    monkeypatch.setattr(delivery, "set_state", full)
    user = RecordedPrompt(is_there=False)
    filed = run_file(report, user, yes=True, summary=WORDS)
    assert isinstance(filed, FilingResult) and filed.action == "filed"
    assert any("issues/1, but that could not be noted" in line for line in user.said)
    monkeypatch.setattr(delivery, "set_state", set_state)
    assert state_of(report) is FilingState.SENT
    assert attempt(report) == (0, "already_filed") and tracker.count(CREATE) == 1
