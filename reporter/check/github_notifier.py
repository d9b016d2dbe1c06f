"""`check --comment`: sends what `notifications` works out to GitHub, through the same service that
files reports, so what holds for an issue holds for a comment on it.

Everything is shown before it is sent, and sent after a yes, or with --yes where nobody can answer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from reporter.check.notifications import (
    Comment,
    IssueState,
    Notification,
    find_due_comments,
    list_addresses,
    post_comments,
)
from reporter.check.work import CheckResult
from reporter.core.errors import LeakError, UsageError
from reporter.core.json_values import Json
from reporter.publish.leak_check import refuse_if_private
from reporter.store.database import find_store_path, open_store
from reporter.store.locks import lock, name_lock_file
from reporter.tracker.delivery import SubmissionService
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.posts import CommentPlace, CommentPost
from reporter.tracker.preview import Prompt, agree_to_comments
from reporter.tracker.repository import need_token, parse_repository


def refuse_early(user: Prompt, is_sure: bool, issues: Sequence[str] = ()) -> None:
    """What `notify_issues` would refuse is refused before hours of work: nobody to ask, or no token
    for where it would be said.

    Args:
        is_sure: `--yes` was given, so nobody is asked.
        issues: those of the command line, as `[HOST/]OWNER/REPO#N`, beside the projects of all
            reports that were filed.

    Raises:
        UsageError: there is nobody to ask, or the store cannot be used.
        AuthenticationError: there is no token for where it would be said.
    """
    if not is_sure and not user.is_there:
        raise UsageError(
            "--comment asks before it posts, and nobody can answer here; run it on a terminal, or"
            " add --yes"
        )
    with open_store() as store:
        known = list_addresses(store)
    for address in {*known, *(issue.rpartition("#")[0] for issue in issues)}:
        need_token(parse_repository(address).host)


def notify_issues(
    results: Sequence[CheckResult], user: Prompt, is_sure: bool
) -> list[Notification]:
    """Tell the issues of these results what has changed.

    Args:
        results: of this run of `check`.
        user: sees the comments and is asked before any is posted.
        is_sure: `user` has agreed beforehand and is not asked.

    Returns:
        One for each comment that was to be posted; none where `user` declined.

    Raises:
        UsageError: the store cannot be used.
        LeakError: a comment names this machine or its user.
    """
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(open_store())
        tracker = GitHub(user.say, stack)
        comments = find_due_comments(store, tracker, results, user.say)
        texts = [(each.issue, _choose_outgoing_text(each)) for each in comments]
        if texts and not agree_to_comments(texts, user, is_sure):
            return []
        return post_comments(store, tracker, comments)


def _choose_outgoing_text(comment: Comment) -> str:
    """The text as it leaves: without the words of the failure where they name this machine or its
    user.

    Raises:
        LeakError: it names them without these words, too.
    """
    try:
        refuse_if_private(comment.text)
        return comment.text
    except LeakError:
        refuse_if_private(comment.bare_text)
        return comment.bare_text


class GitHub:
    """`notifications.Tracker` on GitHub: a session per host, closed with `stack`."""

    def __init__(self, say: Callable[[str], None], stack: contextlib.ExitStack) -> None:
        self._say, self._stack = say, stack
        self._sessions: dict[str, TrackerSession] = {}
        self._projects: Json = {}

    def read_issue_state(self, address: str, number: int, since: datetime) -> IssueState:
        """See `notifications.Tracker`; a comment counts if it was created at `since` or later, not
        if it was only edited then.

        Args:
            address: the project, as `[HOST/]OWNER/REPO`.
            number: of the issue in it.
            since: with its time zone.

        Raises:
            AuthenticationError, UsageError, TrackerError: as `TrackerSession.explain_failures`
                does.
        """
        session, project = self._connect(address)
        with session.explain_failures(f"read {address}#{number}"):
            issue = project.get_issue(number)
            # `since` is the last change to a comment there; here it counts from when it was written
            heard = [
                comment.body or ""
                for comment in issue.get_comments(since=since)
                if comment.created_at >= since
            ]
            return IssueState(issue.state == "closed", tuple(heard))

    def say(self, comment: Comment) -> str:
        """See `notifications.Tracker`.

        Raises:
            LeakError: the comment names this machine.
            AuthenticationError, UsageError, TrackerError: as `TrackerSession.explain_failures`
                does.
        """
        session, project = self._connect(comment.address)
        text = _choose_outgoing_text(comment)
        issue = f"{comment.address}#{comment.number}"
        # the change is part of the place, so that the next one is a delivery of its own
        address = f"{issue}/state/{comment.changes_told}/{comment.check.outcome}"
        place = CommentPlace(address, comment.number, comment.mark)
        post = CommentPost(session, project, place, lambda: text)
        return SubmissionService(comment.key, session.timeouts, self._say).deliver(post).url

    @contextlib.contextmanager
    def lock(self, comment: Comment) -> Iterator[None]:
        """See `notifications.Tracker`; the lock is a file beside the store, and ends with its
        process.

        Raises:
            UsageError: the folder of the store has no locks.
        """
        path = name_lock_file(
            find_store_path(), comment.key, f"{comment.address}#{comment.number}/state"
        )
        with lock([path], lambda: self._say("another process tells this issue; waiting")):
            yield

    def _connect(self, address: str) -> tuple[TrackerSession, Any]:
        repository = parse_repository(address)
        if repository.host not in self._sessions:
            self._sessions[repository.host] = self._stack.enter_context(
                TrackerSession(repository.host)
            )
        session = self._sessions[repository.host]
        if address not in self._projects:
            self._projects[address] = session.read_repository(repository)
        return session, self._projects[address]
