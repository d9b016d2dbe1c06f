"""Sending the suggested comment: shown before, asked for, and once, by the same service that files
reports.
"""

from __future__ import annotations

from dataclasses import replace

from reporter.core.errors import UsageError
from reporter.publish.leak_check import refuse_if_private
from reporter.tracker.delivery import SubmissionService
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.posts import CommentPlace, CommentPost
from reporter.tracker.preview import Prompt, agree_to_comments
from reporter.triage.result import Triage
from reporter.triage.suggestions import compute_mark


def post(result: Triage, session: TrackerSession, user: Prompt) -> Triage:
    """Posts the comment if the person says yes; labels stay a suggestion, since most who triage may
    not set them.

    Args:
        result: of an issue on a tracker, whose `comment` is posted.
        session: with the host of that issue.
        user: sees the comment first.

    Returns:
        The result, with the address of the comment in `posted` if it is there now.

    Raises:
        LeakError: the comment names this machine or its user.
        UsageError: there is a comment and nobody to ask.
        TrackerError, AuthenticationError: as for filing.
    """
    address = result.thread.address
    assert address is not None
    if not result.comment:
        user.say("there is no comment to suggest, so nothing is posted")
        return result
    if not user.is_there:
        raise UsageError(
            "--comment asks before it posts, and nobody can answer here; run it on a terminal"
        )
    refuse_if_private(result.comment)
    if not agree_to_comments([(address.url, result.comment)], user, is_sure=False):
        return result
    key = compute_mark(result)
    comment = CommentPost(
        session,
        session.read_repository(address.repository),
        CommentPlace(str(address), address.number, f"<!-- bugreport-triage: {key} -->"),
        lambda: result.comment,
    )
    delivered = SubmissionService(key, session.timeouts, user.say).deliver(comment)
    return replace(result, posted=delivered.url)
