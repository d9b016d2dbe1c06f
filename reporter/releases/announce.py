"""An issue hears about a repro when its state on a release has changed, once, and not while somebody else has just said so.

What has to be said is worked out here, from results and from what was said before; saying it is the business of a `Tracker`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from packaging.version import InvalidVersion, Version

from reporter.releases.work import Check
from reporter.store.database import now, transaction

_SENTENCES = {
    "reproduces": "This still reproduces on torch {torch}{git}: {detail}",
    "fixed": "This no longer reproduces on torch {torch}{git}: {runs} of {runs} runs of the repro pass.",
}


@dataclass(frozen=True)
class Comment:
    """What one issue is to be told."""

    key: str
    repository: str
    number: int
    release: str
    outcome: str
    text: str


class Tracker(Protocol):
    """The connection to an issue tracker."""

    def confirmed_lately(self, repository: str, number: int) -> bool:
        """Whether a person has said in the issue, within the last days, that it does or does not reproduce."""

    def say(self, repository: str, number: int, text: str) -> None:
        """Write the comment; raises BugreportError if it was not written."""


def due(store: sqlite3.Connection, results: Sequence[Check]) -> list[Comment]:
    """The comments that are due: of each filed report the newest release that could be judged, if its outcome is news."""
    found = []
    for key, check in _newest(results).items():
        for row in store.execute(
            "SELECT repository, number FROM filings WHERE key = ? AND number IS NOT NULL "
            "AND instr(repository, '#') = 0",  # with # it is a comment
            (key,),
        ):
            said = store.execute(
                "SELECT outcome FROM comments WHERE key = ? AND repository = ?",
                (key, row["repository"]),
            ).fetchone()
            # the report itself said that it reproduces
            if check.outcome == (said["outcome"] if said else "reproduces"):
                continue
            found.append(
                Comment(
                    key,
                    row["repository"],
                    row["number"],
                    check.release,
                    check.outcome,
                    _text(check),
                )
            )
    return found


def tell(store: sqlite3.Connection, tracker: Tracker, comments: Sequence[Comment]) -> list[Comment]:
    """Say what is due, one after the other, and remember each one at once; returns what was said."""
    told = []
    for comment in comments:
        is_known = tracker.confirmed_lately(comment.repository, comment.number)
        if not is_known:
            tracker.say(comment.repository, comment.number, comment.text)
            told.append(comment)
        with transaction(store):
            store.execute(
                "INSERT OR REPLACE INTO comments (key, repository, release, outcome, time) VALUES (?, ?, ?, ?, ?)",
                (comment.key, comment.repository, comment.release, comment.outcome, now()),
            )
    return told


def _newest(results: Sequence[Check]) -> dict[str, Check]:
    """Of each repro the result on the newest torch that says whether it is there."""
    best: dict[str, Check] = {}
    for check in results:
        if check.outcome not in _SENTENCES:
            continue
        known = best.get(check.key)
        if known is None or _version(check) > _version(known):
            best[check.key] = check
    return best


def _version(check: Check) -> Version:
    try:
        return Version(check.torch)
    except InvalidVersion:
        return Version("0")


def _text(check: Check) -> str:
    git = f" ({check.git})" if check.git else ""
    sentence = _SENTENCES[check.outcome]
    return sentence.format(torch=check.torch, git=git, detail=check.detail, runs=check.runs[1])
