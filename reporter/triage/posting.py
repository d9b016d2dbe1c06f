"""Sending the suggested comment: shown before, asked for, and once, by the same service that files
reports.
"""

from __future__ import annotations

from dataclasses import replace

from reporter.core.errors import BugreportError, Interruption
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
        The result, with the address of the comment in `posted` if it is there now, and in
        `posting_error` why it is not where that is no choice of the person's: what was judged is
        not lost with it.
    """
    if not result.comment:
        user.say("there is no comment to suggest, so nothing is posted")
        return result
    try:
        return replace(result, posted=_deliver(result, session, user))
    except Interruption:
        raise
    except BugreportError as error:
        user.say(f"the comment was not posted: {error}")
        return replace(result, posting_error=error)


def _deliver(result: Triage, session: TrackerSession, user: Prompt) -> str | None:
    """Sends the comment; its address, None without a yes.

    Raises:
        LeakError: the comment names this machine or its user.
        TrackerError, AuthenticationError, UsageError: as for filing.
    """
    address = result.thread.address
    assert address is not None
    refuse_if_private(result.comment)
    if not agree_to_comments([(address.url, result.comment)], user, is_sure=False):
        return None
    key = compute_mark(result)
    comment = CommentPost(
        session,
        session.read_repository(address.repository),
        CommentPlace(str(address), address.number, f"<!-- bugreport-triage: {key} -->"),
        lambda: result.comment,
    )
    return SubmissionService(key, session.timeouts, user.say).deliver(comment).url
