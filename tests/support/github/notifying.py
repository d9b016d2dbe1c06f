"""What checks found out about a filed report, and what its issue hears of it."""

from __future__ import annotations

from typing import Any

from reporter.check.github_notifier import notify_issues
from reporter.check.notifications import Notification
from reporter.check.work import CheckResult
from reporter.store.database import open_store
from tests.support.checking import checked
from tests.support.github.submitter import RecordedPrompt
from tests.support.github.tracker import Tracker


def result(outcome: Any, torch: str = "2.14.0", key: str = "", **more: Any) -> CheckResult:
    """A finished check of the report that was filed."""
    found = {"key": key or known_key(), "detail": "E: m", "runs": (2, 2), **more}
    return checked("r", torch, outcome, **found)


def known_key() -> str:
    """The key of the report that was filed."""
    with open_store() as store:
        row = store.execute("SELECT key FROM filings").fetchone()
    return str(row["key"])


def notify(*results: CheckResult, user: RecordedPrompt | None = None) -> list[Notification]:
    """What `check --comment` says, with --yes where there is no person."""
    return notify_issues(results, user or RecordedPrompt(is_there=False), is_sure=user is None)


def comments(tracker: Tracker) -> list[str]:
    """The texts below the first issue."""
    return [comment["body"] for comment in tracker.repo.issues[0]["comments"]]
