"""`check --comment` against a tracker that holds us to GitHub's description: one comment per
change.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from reporter.check.github_notifier import notify_issues, refuse_early
from reporter.core.errors import AuthenticationError, UsageError
from reporter.tracker.overview import show, sync
from tests.support.github.notifying import comments, known_key, notify, result
from tests.support.github.submitter import RecordedPrompt, run_file
from tests.support.github.tracker import TOKEN, Fault, Tracker


def test_a_change_is_told_once_and_follows_the_report(tracker: Tracker, report: Path) -> None:
    run_file(report)
    assert notify(result("reproduces")) == [] and comments(tracker) == []
    (first,) = notify(result("fixed"))
    assert first.url.endswith("#issuecomment-1") and "no longer reproduces" in comments(tracker)[0]
    assert notify(result("fixed")) == [] and notify(result("fixed", "2.15.0")) == []
    (second,) = notify(result("reproduces", "2.16.0"))
    assert second.url.endswith("#issuecomment-2") and "reproduces again" in comments(tracker)[1]
    # what was said beside the issue is no issue of its own
    assert len(show(known_key()).known.filings) == 1
    assert sync().changes == ("1 of 1 filings asked about, 0 changed",)
    assert TOKEN not in "".join(comments(tracker))


def test_it_is_shown_and_sent_after_a_yes(tracker: Tracker, report: Path) -> None:
    run_file(report)
    user = RecordedPrompt(["n"])
    assert notify(result("fixed"), user=user) == [] and comments(tracker) == []
    assert "no longer reproduces on torch `2.14.0`" in "\n".join(user.shown)
    assert len(notify(result("fixed"), user=RecordedPrompt(["y"]))) == 1
    with pytest.raises(UsageError, match="nobody can answer"):
        refuse_early(RecordedPrompt(is_there=False), is_sure=False)


def test_no_token_is_said_before_the_work(
    tracker: Tracker, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_file(report)
    monkeypatch.delenv("GH_TOKEN")
    with pytest.raises(AuthenticationError, match="no token"):
        refuse_early(RecordedPrompt(), is_sure=True)


def test_who_said_it_lately_spares_us_the_comment(tracker: Tracker, report: Path) -> None:
    run_file(report)
    now = datetime.now(timezone.utc)
    issue = tracker.repo.issues[0]
    issue["comments"] = [
        {"id": 1, "author": "kim", "body": "works for me now", "created_at": now - timedelta(60)},
    ]
    news = result("fixed", issue="pytorch/pytorch#1")
    assert len(notify(news)) == 1  # that was long ago
    issue["comments"].append(
        {"id": 9, "author": "kim", "body": "Fails again, I can reproduce it", "created_at": now}
    )
    assert notify(result("reproduces", "2.15.0")) == [] and len(issue["comments"]) == 3


def test_words_that_name_this_machine_are_left_out(tracker: Tracker, report: Path) -> None:
    run_file(report)
    notify(result("fixed"))
    where = str(Path.home() / "envs" / "secret-project")
    (found,) = notify(result("reproduces", "2.16.0", detail=f"E: {TOKEN} {where}"))
    assert found.url and TOKEN not in comments(tracker)[1] and where not in comments(tracker)[1]
    assert "This reproduces again on torch `2.16.0`" in comments(tracker)[1]


def test_an_issue_that_cannot_be_read_costs_nothing(tracker: Tracker, report: Path) -> None:
    run_file(report)
    tracker.faults = [Fault("issues/get", status=503, times=1000)]
    user = RecordedPrompt(is_there=False)
    assert notify_issues([result("fixed")], user, is_sure=True) == []
    assert any("was not told" in line for line in user.said)
    tracker.faults = []
    assert len(notify(result("fixed"))) == 1
