"""Sending the suggested comment: shown before, asked for, and once, by the same service that files
reports.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from reporter.core.errors import UsageError
from reporter.publish.allow_list import refuse_if_private
from reporter.tracker.delivery import SubmissionService
from reporter.tracker.posts import CommentPost
from reporter.tracker.preview import Prompt
from reporter.tracker.session import TrackerSession
from reporter.triage.answer import mark
from reporter.triage.result import Triage


def post(result: Triage, session: TrackerSession, user: Prompt) -> Triage:
    """Posts the comment if the person says yes; labels stay a suggestion, since most who triage may
    not set them.

    Raises:
        LeakError: the comment names this machine or its user.
        UsageError: there is nobody to ask, or nothing to post.
        TrackerError, AuthenticationError: as for filing.
    """
    address = result.thread.address
    if address is None:
        raise UsageError("--comment needs an issue on a tracker; give its address or OWNER/REPO#N")
    if not result.comment:
        user.say("there is no comment to suggest, so nothing is posted")
        return result
    if not user.is_there:
        raise UsageError(
            "--comment asks before it posts, and nobody can answer here; run it on a terminal"
        )
    refuse_if_private(result.comment)
    for line in ("", f"this would be posted on {address.url}:", "", *result.comment.split("\n")):
        user.show(line)
    if user.choose("post it?", {"y": "yes", "n": "no"}) != "y":
        user.say("nothing was posted")
        return result
    key = mark(result)
    with tempfile.TemporaryDirectory(prefix="bugreport-") as name:
        submitter = SubmissionService(key, Path(name), session.pace, user.say)
        landed = submitter.deliver(
            CommentPost(
                session,
                session.repository(address.repository),
                str(address),
                address.number,
                f"<!-- bugreport-triage: {key} -->",
                lambda: result.comment,
            )
        )
    return replace(result, posted=landed.url)
