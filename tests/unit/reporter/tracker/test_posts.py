"""How a post is found again, and what is said of a comment that did not arrive."""

from __future__ import annotations

from pathlib import Path

import pytest

from reporter.core.errors import TrackerError
from tests.support.github.submitter import WORDS, attempt, run_file
from tests.support.github.tracker import Fault, Tracker, long_ago

LIST = "issues/list-for-repo"


def test_a_comment_that_got_lost_is_called_a_comment(tracker: Tracker, report: Path) -> None:
    tracker.add_issue("theirs", "text")
    tracker.faults = [Fault("issues/create-comment", "reset")]
    with pytest.raises(TrackerError, match="the comment was still not there after 240 seconds"):
        run_file(report, yes=True, summary=WORDS, comment_on=1)


def test_comments_that_cannot_be_read_are_named_and_nothing_is_sent(
    tracker: Tracker, report: Path
) -> None:
    tracker.add_issue("theirs", "text")
    tracker.faults = [Fault("issues/list-comments", status=503, times=99)]
    with pytest.raises(TrackerError, match="read the comments on #1"):
        run_file(report, yes=True, summary=WORDS, comment_on=1)
    assert tracker.count("issues/create-comment") == 0


def test_a_look_ends_at_the_issues_that_are_older_than_the_first_attempt(
    tracker: Tracker, report: Path
) -> None:
    """250 issues of last month fill three pages; none but the first page can have ours."""
    tracker.index_lags = True
    for number in range(250):
        tracker.add_issue(f"old {number}", "text", created_at=long_ago(30))
    tracker.add_issue("new", "text")
    tracker.faults = [Fault("issues/create", "reset")]
    assert attempt(report)[0] == 125
    assert tracker.count(LIST) == 2 + 7  # before it is shown and sent, and until it is given up
