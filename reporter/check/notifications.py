"""An issue hears about a repro when its state on a release has changed, once, and not while
somebody else has just said so.

What has to be said is worked out here, from results, from what was said before and from what stands
in the issue; saying it is the business of a `Tracker`. A comment carries the number of the change
that it tells, so that a run that was killed behind the request finds its comment instead of writing
a second one.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Protocol

from packaging.version import InvalidVersion, Version

from reporter.check.work import CheckResult
from reporter.core.errors import BugreportError
from reporter.core.kinds import CheckOutcome
from reporter.core.version import VERSION
from reporter.report.sections.check_document import CommentRow
from reporter.store.database import format_now, open_transaction
from reporter.store.filings import list_filings
from templates import render

#: What somebody said this long ago is not recent any more.
_LATELY = timedelta(days=14)
_TOLD = (CheckOutcome.REPRODUCES, CheckOutcome.FIXED)
_MARK = re.compile(r"<!-- bugreport-state: \S+ \d+ (?P<outcome>\w+) -->")
_QUOTED = re.compile(r"^ {0,3}>.*$", re.MULTILINE)
_CODE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_GONE = re.compile(
    r"(?:\bno longer|\bnot|n['’]t|\bcannot|\bunable to|\bfail(?:s|ed)?"
    r" to)\s+(?:\w+\s+){0,2}?(?:repro\w*|happen\w*|fail\w*|occur\w*)"
    r"|\b(?:fixed|gone|resolved|works)\s+(?:now|for"
    r" me|on|in|with|by)\b|\b(?:is|was|got|been|seems|looks)\s+(?:now\s+)?(?:fixed|resolved"
    r"|gone)\b",
    re.IGNORECASE,
)
_STILL = re.compile(
    r"\brepro(?:duce[sd]?|ducible|s)?\b|\b(?:still|also|again)\s+(?:\w+\s+){0,2}?(?:happen\w*"
    r"|fail\w*|occur\w*|see\w*|there|broken|present)"
    r"|\bsame\s+(?:error|failure|problem|issue)\b|\b(?:fails|failing|broken)\s+(?:on|in|with"
    r"|for)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class IssueState:
    """What an issue says of itself: whether it is closed, and the comments that were written
    lately.
    """

    is_closed: bool
    heard: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comment:
    """What one issue is to be told: `address` is its project, `changes_told` how many changes it
    was told before, `before` what it believes.
    """

    address: str
    number: int
    check: CheckResult
    changes_told: int
    before: str
    is_closed: bool = False

    @property
    def key(self) -> str:
        """The key of the repro, by which the store remembers what was told of it."""
        return self.check.key

    @property
    def issue(self) -> str:
        """The issue, as `[HOST/]OWNER/REPO#N`."""
        return f"{self.address}#{self.number}"

    @property
    def mark(self) -> str:
        """What the comment is found by; the same for every attempt to tell this change, on whatever
        release it was seen.
        """
        return f"<!-- bugreport-state: {self.key} {self.changes_told} {self.check.outcome} -->"

    @property
    def text(self) -> str:
        """The comment as Markdown."""
        return _render_text(self, self.check.detail)

    @property
    def bare_text(self) -> str:
        """The comment without the words of the failure, should they name this machine."""
        return _render_text(self, "")


@dataclass(frozen=True)
class Notification:
    """What became of a comment: its `url`, or why it was not written."""

    comment: Comment
    url: str = ""
    trouble: str = ""

    def to_section(self) -> CommentRow:
        """The row of the document."""
        comment = self.comment
        return CommentRow(
            repro=comment.check.repro,
            issue=comment.issue,
            outcome=comment.check.outcome,
            torch=comment.check.torch,
            url=self.url or None,
            trouble=self.trouble or None,
        )

    def describe(self) -> str:
        """For people."""
        where = self.comment.issue
        return f"told {where}: {self.url}" if self.url else f"{where} was not told: {self.trouble}"


class Tracker(Protocol):
    """The connection to an issue tracker."""

    def read_issue_state(self, address: str, number: int, since: datetime) -> IssueState:
        """The issue, with what was written there since.

        Args:
            address: the project, as `[HOST/]OWNER/REPO`.
            number: of the issue in it.
            since: with its time zone; older comments are not read.

        Raises:
            BugreportError: it cannot be read.
        """

    def say(self, comment: Comment) -> str:
        """Writes the comment unless it stands there already, and returns its address.

        Raises:
            BugreportError: it was not written.
        """

    def lock(self, comment: Comment) -> AbstractContextManager[None]:
        """Held by one process at a time for each issue."""


def list_addresses(store: sqlite3.Connection) -> list[str]:
    """The projects in which reports were filed."""
    return sorted({item.address for item in list_filings(store) if item.is_issue})


def find_due_comments(
    store: sqlite3.Connection,
    tracker: Tracker,
    results: Sequence[CheckResult],
    trouble: Callable[[str], None] = lambda _: None,
) -> list[Comment]:
    """The comments that are due: of each report that has an issue the newest release that could be
    judged, if its outcome is news. Of a release before the one that the issue is about, or was told
    of last, it is none.

    Args:
        store: has where reports were filed and what their issues were told; what somebody else has
            said lately is written there as said.
        results: of one check; those that could not be judged are passed over.
        trouble: gets a sentence for each issue that cannot be read; its news stays due.
    """
    found = []
    for key, check in _select_newest(results).items():
        if _is_before(check.torch, _load_reported_torch(store, key)):
            continue
        for address, number in _list_issues(store, key, check):
            try:
                comment = _find_due_comment(store, tracker, check, address, number)
            except BugreportError as error:
                trouble(f"{address}#{number} was not told: {error}")
                continue
            if comment is not None:
                found.append(comment)
    return found


def post_comments(
    store: sqlite3.Connection,
    tracker: Tracker,
    comments: Sequence[Comment],
) -> list[Notification]:
    """Posts what is due, one after the other.

    Args:
        store: remembers each comment as soon as it is posted.
        comments: as `find_due_comments` returns them.

    Returns:
        What became of each: its URL, or why it could not be said, which is said the next time.
        What another process has said meanwhile is left out.
    """
    told = []
    for comment in comments:
        try:
            with tracker.lock(comment):
                last = _load_last_comment(store, comment.key, comment.address, comment.number)
                if last is not None and last["outcome"] == comment.check.outcome:
                    continue  # another process was quicker
                found = Notification(comment, tracker.say(comment))
                _remember(store, comment, comment.changes_told + 1)
        except BugreportError as error:
            found = Notification(comment, trouble=str(error))
        told.append(found)
    return told


def is_confirmed_by(outcome: CheckOutcome, text: str) -> bool:
    """Whether a comment says, by its mark or in words, what `outcome` says; what it quotes does not
    count.
    """
    marks = [found["outcome"] for found in _MARK.finditer(text)]
    if marks:
        return outcome in marks
    own = _QUOTED.sub("", _CODE.sub(" ", text))
    is_gone = _GONE.search(own) is not None
    is_there = _STILL.search(_GONE.sub(" ", own)) is not None
    # who says both ("works on 2.5, fails on 2.6") has not confirmed either
    return is_gone != is_there and is_gone == (outcome == CheckOutcome.FIXED)


def _find_due_comment(
    store: sqlite3.Connection, tracker: Tracker, check: CheckResult, address: str, number: int
) -> Comment | None:
    last = _load_last_comment(store, check.key, address, number)
    if last is not None and (
        last["outcome"] == check.outcome or _is_before(check.torch, last["release"])
    ):
        return None
    state = tracker.read_issue_state(address, number, datetime.now(timezone.utc) - _LATELY)
    # an issue that nobody has been told anything of yet says by its state what is believed
    before = (
        last["outcome"]
        if last
        else CheckOutcome.FIXED if state.is_closed else CheckOutcome.REPRODUCES
    )
    comment = Comment(
        address=address,
        number=number,
        check=check,
        changes_told=last["said"] if last else 0,
        before=before,
        is_closed=state.is_closed,
    )
    if before == check.outcome:
        return None
    others = [text for text in state.heard if comment.mark not in text]
    if len(others) == len(state.heard) and any(is_confirmed_by(check.outcome, t) for t in others):
        _remember(store, comment, comment.changes_told)
        return None
    return comment


def _load_reported_torch(store: sqlite3.Connection, key: str) -> str:
    """The release that a report is about; empty where the program was taken from an issue."""
    row = store.execute("SELECT torch FROM reports WHERE key = ?", (key,)).fetchone()
    return str(row["torch"]) if row is not None else ""


def _load_last_comment(
    store: sqlite3.Connection, key: str, address: str, number: int
) -> sqlite3.Row | None:
    """What an issue was told last; an earlier release noted the project alone."""
    row: sqlite3.Row | None = store.execute(
        "SELECT outcome, release, said FROM comments WHERE key = ? AND repository IN (?, ?)"
        " ORDER BY repository = ?",
        (key, address, f"{address}#{number}", address),
    ).fetchone()
    return row


def _remember(store: sqlite3.Connection, comment: Comment, changes_told: int) -> None:
    with open_transaction(store):
        store.execute(
            "INSERT OR REPLACE INTO comments (key, repository, release, outcome, time, said) VALUES"
            " (?, ?, ?, ?, ?, ?)",
            (
                comment.key,
                comment.issue,
                comment.check.torch,
                comment.check.outcome,
                format_now(),
                changes_told,
            ),
        )


def _list_issues(store: sqlite3.Connection, key: str, check: CheckResult) -> list[tuple[str, int]]:
    """The issue that a program was taken from, and those that its report was filed as."""
    found = []
    if check.issue:
        address, _, number = check.issue.rpartition("#")
        found.append((address, int(number)))
    found += [(i.address, i.number) for i in list_filings(store, key) if i.is_issue and i.number]
    return list(dict.fromkeys(found))


def _select_newest(results: Sequence[CheckResult]) -> dict[str, CheckResult]:
    """Of each repro the result on the newest torch that says whether it is there."""
    best: dict[str, CheckResult] = {}
    for check in results:
        if check.outcome not in _TOLD:
            continue
        known = best.get(check.key)
        if known is None or _parse_version(check.torch) > _parse_version(known.torch):
            best[check.key] = check
    return best


def _is_before(torch: str, other: str) -> bool:
    """Whether one release is older than another; builds of one release are alike."""
    return _parse_version(torch) < _parse_version(other)


def _parse_version(torch: str) -> Version:
    try:
        return Version(Version(torch).public)
    except InvalidVersion:
        return Version("0")


def _render_text(comment: Comment, detail: str) -> str:
    check = comment.check
    text = render(
        "notification.md.j2",
        key=comment.key,
        changes_told=comment.changes_told,
        before=comment.before,
        is_closed=comment.is_closed and comment.changes_told == 0,
        outcome=check.outcome,
        torch=check.torch,
        git=check.git,
        runs=check.runs,
        detail=detail,
        version=VERSION,
    )
    return text.strip() + "\n"
