"""One filing against the tracker: an issue that is there is read, one that may be there is looked
for by its mark.
"""

from __future__ import annotations

from github.Issue import Issue
from github.Repository import Repository as Project

from reporter.store.database import format_now, open_store
from reporter.store.filings import (
    Filing,
    FilingState,
    KnownIssue,
    find_first_sending,
    is_beside,
    load_issue,
    name_repository,
    remember_issue,
    set_state,
)
from reporter.tracker.delivery import DeliveredPost
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.plain_text import clean_line
from reporter.tracker.posts import find_issue
from reporter.tracker.repository import Repository, parse_repository


def refresh(item: Filing) -> list[str]:
    """Brings one filing up to date; returns what has changed, a line each.

    Raises:
        BugreportError: the tracker gives no answer; the store is as it was.
    """
    if is_beside(item.address):
        return []
    repository = parse_repository(name_repository(item.address))
    with TrackerSession(repository.host) as session:
        project = session.read_repository(repository)
        if item.number is not None:
            return _sync_issue(session, project, repository, item.number)
        if "#" in item.address:
            return []  # a comment that did not arrive is looked for when it is sent again
        return _find_filed(session, project, repository, item)


def _find_filed(
    session: TrackerSession, project: Project, repository: Repository, item: Filing
) -> list[str]:
    """An issue filed by hand, or one of which it was not known whether it arrived."""
    with open_store() as store:
        since = find_first_sending(store, item.key, item.address)
    delivered: DeliveredPost | None = find_issue(session, project, repository, item.key, since)
    if delivered is None:
        return []
    with open_store() as store:
        set_state(
            store,
            item.key,
            item.address,
            FilingState.CONFIRMED,
            number=delivered.number,
            url=delivered.url,
            detail="found by its mark",
        )
    return [
        f"{repository}#{delivered.number}: found, {delivered.url}",
        *_sync_issue(session, project, repository, delivered.number),
    ]


def _sync_issue(
    session: TrackerSession, project: Project, repository: Repository, number: int
) -> list[str]:
    with session.explain_failures(f"read {repository}#{number}"):
        fresh = build_known_issue(repository, project.get_issue(number))
    with open_store() as store:
        before = load_issue(store, fresh.repository, number)
        remember_issue(store, fresh)
    return _describe_differences(f"{repository}#{number}", before, fresh)


def build_known_issue(repository: Repository, issue: Issue) -> KnownIssue:
    """What the tracker says of an issue now; call it inside `TrackerSession.explain_failures`."""
    return KnownIssue(
        repository=str(repository),
        number=issue.number,
        title=clean_line(issue.title, 200),
        state=clean_line(issue.state),
        reason=clean_line(issue.state_reason or ""),
        labels=tuple(clean_line(label.name) for label in issue.labels),
        synced=format_now(),
    )


def _describe_differences(name: str, before: KnownIssue | None, fresh: KnownIssue) -> list[str]:
    if before is None:
        return []
    lines = []
    if (before.state, before.reason) != (fresh.state, fresh.reason):
        because = f" ({fresh.reason})" if fresh.reason else ""
        lines.append(f"{name}: {before.state} → {fresh.state}{because}")
    added = sorted(set(fresh.labels) - set(before.labels))
    gone = sorted(set(before.labels) - set(fresh.labels))
    if added:
        lines.append(f"{name}: labels added: {', '.join(added)}")
    if gone:
        lines.append(f"{name}: labels removed: {', '.join(gone)}")
    if before.title != fresh.title:
        lines.append(f"{name}: now called “{fresh.title}”")
    return lines
