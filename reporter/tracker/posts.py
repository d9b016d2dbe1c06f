"""What can be sent, each with its way of being found again: an issue, a comment, and the log beside
an issue.

An issue is looked for twice: among the newest ones, because the search index lags behind by
minutes, and in the index, because the newest ones end somewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import github
from github.Issue import Issue
from github.Repository import Repository as Project

from reporter.core.errors import AuthenticationError, TrackerError, UsageError
from reporter.core.json_values import Json
from reporter.lint.subject import find_python_block
from reporter.store.reports import compute_key
from reporter.tracker.delivery import DeliveredPost
from reporter.tracker.http_session import TrackerSession, is_incomplete
from reporter.tracker.repository import Repository
from reporter.tracker.submission import Submission, has_long_log, render_log_comment

#: A hundred issues each. Between two attempts a project gets some hundred at most.
_PAGES = 10
#: Of a search for a mark, more than one is somebody's copy.
_HITS = 20
#: How far the clocks of two machines may be apart.
_SKEW = timedelta(days=1)


@dataclass(frozen=True)
class IssuePost:
    """The issue itself."""

    session: TrackerSession
    project: Project
    repository: Repository
    draft: Submission
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    what: str = "the issue"

    @property
    def address(self) -> str:
        """The repository as -R takes it."""
        return str(self.repository)

    def look(self, since: datetime | None) -> DeliveredPost | None:
        """The issue with the report's mark, or None; see `find_issue`."""
        return find_issue(self.session, self.project, self.repository, self.draft.key, since)

    def send(self) -> DeliveredPost:
        """Creates the issue.

        Raises:
            AuthenticationError, UsageError, TrackerError: as `TrackerSession.explain_failures`
                does.
        """
        with self.session.explain_failures(f"create the issue in {self.repository}", writes=True):
            more: Json = {}
            if self.labels:
                more["labels"] = list(self.labels)
            if self.assignees:
                more["assignees"] = list(self.assignees)
            issue = self.project.create_issue(
                title=self.draft.text.title, body=self.draft.text.body, **more
            )
            return _build_delivered(issue.number, issue.html_url)


@dataclass(frozen=True)
class CommentPlace:
    """Where a comment goes: the `number` of the issue and the `mark` that it is found by there.
    `address` names its delivery in the store.
    """

    address: str
    number: int
    mark: str


@dataclass(frozen=True)
class CommentPost:
    """A comment on an issue; its `text` is made when it is sent, since it may need a gist."""

    session: TrackerSession
    project: Project
    place: CommentPlace
    text: Callable[[], str]
    what: str = "the comment"

    @property
    def address(self) -> str:
        """What names its delivery in the store."""
        return self.place.address

    def look(self, since: datetime | None) -> DeliveredPost | None:
        """The comment with the mark, whenever it was written, or None.

        Raises:
            AuthenticationError, UsageError, TrackerError: as `TrackerSession.explain_failures`
                does.
        """
        with self.session.explain_failures(f"read the comments on #{self.place.number}"):
            for comment in self.project.get_issue(self.place.number).get_comments():
                if self.place.mark in (comment.body or ""):
                    return _build_delivered(self.place.number, comment.html_url)
        return None

    def send(self) -> DeliveredPost:
        """Makes the text, then writes the comment.

        Raises:
            AuthenticationError, UsageError, TrackerError: as `TrackerSession.explain_failures`
                does.
        """
        text = self.text()
        with self.session.explain_failures(f"read issue #{self.place.number}"):
            issue = self.project.get_issue(self.place.number)
        with self.session.explain_failures(f"comment on #{self.place.number}", writes=True):
            return _build_delivered(self.place.number, issue.create_comment(text).html_url)


@dataclass
class LogText:
    """The comment with the log: the log itself if it fits, else a secret gist's address. A process
    that dies between the two leaves a gist that nobody knows of, which does no harm."""

    session: TrackerSession
    draft: Submission
    say: Callable[[str], None]
    _text: str = field(default="", init=False)

    def __call__(self) -> str:
        if not self._text:
            self._text = render_log_comment(
                self.draft, self._create_gist() if self._needs_gist else None
            )
        return self._text

    @property
    def _needs_gist(self) -> bool:
        """Whether the log does not fit into a comment."""
        return has_long_log(self.draft)

    def _create_gist(self) -> str | None:
        """The gist's address, or None where the token may not make one: then the comment has the
        log, cut.
        """
        name = f"error-log-{self.draft.key}.txt"
        try:
            with self.session.explain_failures(
                "create a secret gist for the error log", writes=True
            ):
                gist = self.session.github.get_user().create_gist(
                    False,
                    {name: github.InputFileContent(self.draft.text.log)},
                    f"Error log of bug report {self.draft.key}",
                )
                return _build_delivered(1, gist.html_url).url
        except (TrackerError, AuthenticationError, UsageError) as error:
            self.say(f"{error}; the comment has the log instead, cut to what fits")
            return None


def find_issue(
    session: TrackerSession,
    project: Project,
    repository: Repository,
    key: str,
    since: datetime | str | None,
) -> DeliveredPost | None:
    """The issue with the mark of a report; the oldest, should somebody have copied the mark.

    Args:
        since: the first attempt to file it by our clock, before which there can be none; None if
            there was no attempt.

    Raises: as `TrackerSession.explain_failures`, where the answer would not be sure.
    """
    if isinstance(since, str):
        since = datetime.fromisoformat(since)
    pages = 1 if since is None else _PAGES
    newest, is_complete = _search_newest(session, project, repository, key, since, pages)
    if newest is not None:
        return newest
    try:
        return _search_index(session, repository, key)
    except (TrackerError, AuthenticationError, UsageError):
        if is_complete:
            return None  # it would have been among the newest
        if since is not None:
            raise
    # this machine has sent nothing, but another one may have: without the index the list must go
    # further back
    return _search_newest(session, project, repository, key, None, _PAGES)[0]


def _search_newest(
    session: TrackerSession,
    project: Project,
    repository: Repository,
    key: str,
    since: datetime | None,
    pages: int,
) -> tuple[DeliveredPost | None, bool]:
    """The issue, and whether all that are newer than the first attempt were seen."""
    found: list[DeliveredPost] = []
    seen = 0
    oldest: datetime | None = None
    with session.explain_failures(f"list the newest issues of {repository}"):
        issues: Iterable[Issue] = project.get_issues(state="all", sort="created", direction="desc")
        for issue in issues:
            seen += 1
            created = issue.created_at
            if seen == 1 and since is not None:
                # a clock of ours that is ahead must not hide what the tracker has just created
                oldest = min(since, created) - _SKEW
            if _is_marked(issue, key):
                found.append(_build_delivered(issue.number, issue.html_url))
            if oldest is not None and created < oldest:
                break
            if seen >= 100 * pages:
                return _choose_first(found), False
    return _choose_first(found), True


def _search_index(
    session: TrackerSession, repository: Repository, key: str
) -> DeliveredPost | None:
    # the key alone: an index cuts words at hyphens and colons, and then looks for each of them
    query = f'repo:{repository.full_name} is:issue in:body "{key}"'
    with session.explain_failures(f"search {repository}"):
        results: Iterable[Issue] = session.github.search_issues(query, sort="created", order="asc")
        found = [
            _build_delivered(issue.number, issue.html_url)
            for issue in itertools.islice(results, _HITS)
            if _is_marked(issue, key)
        ]
        gave_up = not found and is_incomplete(results)
    if gave_up:
        raise TrackerError(
            f"the search of {repository} took too long and gave up, so it is not known whether the"
            " report was filed there; try again later"
        )
    return _choose_first(found)


def _is_marked(issue: Issue, key: str) -> bool:
    """It has the mark; or the program that the mark is made of, should somebody have edited the
    mark away.
    """
    body = issue.body or ""
    if f"<!-- bugreport-key: {key} -->" in body:
        return True
    program = find_python_block(body.replace("\r\n", "\n"))
    return program is not None and compute_key(program) == key


def _build_delivered(number: object, url: object) -> DeliveredPost:
    """What was created, by the answer.

    Raises:
        ValueError: the answer is none: an issue has a number and a page.
    """
    if not isinstance(number, int) or not isinstance(url, str) or not url.startswith("http"):
        raise ValueError("an answer without a number or an address")
    return DeliveredPost(number, url)


def _choose_first(found: list[DeliveredPost]) -> DeliveredPost | None:
    return min(found, key=lambda delivered: delivered.number, default=None)
