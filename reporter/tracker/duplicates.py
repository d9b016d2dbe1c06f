"""Has somebody reported this already?

Candidates come from three searches, and each is shown with the reasons that speak for it.

A search finds words; whether two issues are one bug is decided by signs in their text
(`reporter.tracker.weighing`). Nothing is decided for the person who files, and a search that fails
costs the list, never the report.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from github.Issue import Issue

from reporter.core.errors import BugreportError
from reporter.core.json_values import Json
from reporter.store.database import open_store
from reporter.store.filings import FilingState, list_filings
from reporter.store.reports import find_alike
from reporter.tracker.failure_facts import ReportedFailure
from reporter.tracker.http_session import TrackerSession, is_incomplete
from reporter.tracker.plain_text import clean_line, clean_text
from reporter.tracker.repository import Repository
from reporter.tracker.weighing import (
    LIKELY,
    find_message_words,
    list_rare_operators,
    name_exception,
    strip_module,
    weigh,
)

_SHOWN = 5
_PER_SEARCH = 10
_QUERY_LIMIT = 250  # the search API takes 256 characters


@dataclass(frozen=True)
class PossibleDuplicate:
    """An issue, or a report of one's own without one, that may be the same bug.

    `score` is between 0 and 1.
    """

    score: float
    reasons: tuple[str, ...]
    title: str
    url: str
    number: int | None = None
    state: str = ""

    @property
    def is_likely(self) -> bool:
        """Whether the score is at least `LIKELY`."""
        return self.score >= LIKELY

    def to_json(self) -> Json:
        """The entry of the document."""
        return {
            "number": self.number,
            "url": self.url,
            "title": self.title,
            "state": self.state,
            "score": round(self.score, 2),
            "likely": self.is_likely,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True)
class Duplicates:
    """The candidates, the most likely first; `trouble` says which search gave no answer."""

    candidates: tuple[PossibleDuplicate, ...] = ()
    trouble: tuple[str, ...] = ()

    @property
    def likely(self) -> tuple[PossibleDuplicate, ...]:
        """The candidates whose score is at least `LIKELY`, in their order."""
        return tuple(item for item in self.candidates if item.is_likely)

    @property
    def to_comment_on(self) -> PossibleDuplicate | None:
        """The open issue that a comment would go to."""
        found = (c for c in self.likely if c.number is not None and c.state != "closed")
        return next(found, None)


def find_duplicates(
    session: TrackerSession | None,
    repository: Repository,
    failure: ReportedFailure,
) -> Duplicates:
    """Searches the store, and the tracker where there is a session.

    Raises nothing that the tracker or the store causes: it is told as `trouble` of the result.

    Args:
        session: with the host of `repository`; None: only the store is searched.
        failure: what issues are compared with.

    Returns:
        At most `_SHOWN` candidates.
    """
    found: dict[str, PossibleDuplicate] = {}
    trouble: list[str] = []
    try:
        found.update((item.url, item) for item in _search_store(failure, repository))
    except BugreportError as error:
        trouble.append(str(error))
    for query in build_queries(repository, failure) if session is not None else ():
        assert session is not None
        try:
            items, gave_up = _search_tracker(session, query, failure)
            for item in items:
                found.setdefault(item.url, item)
                if item.score > found[item.url].score:
                    found[item.url] = item
            if gave_up:
                trouble.append(f"the search of {repository} gave up early, so there may be more")
        except BugreportError as error:
            trouble.append(str(error))
            break  # the search has a budget of its own; what used it up will not give more
    ranked = sorted(found.values(), key=lambda item: (-item.score, item.number or 0))
    shown = [item for item in ranked if item.score > 0.15][:_SHOWN]
    return Duplicates(tuple(shown), tuple(trouble))


def build_queries(repository: Repository, failure: ReportedFailure) -> list[str]:
    """What the tracker is asked, the most telling first; each within the limit of the search
    API.
    """
    scope = f"repo:{repository.full_name} is:issue"
    asked = []
    if failure.stored.fingerprint:
        digits = failure.stored.fingerprint.partition(":")[2]
        asked.append(f'{scope} in:body "{digits}"')
    exception, words = name_exception(failure), find_message_words(failure)
    if exception and words:
        asked.append(_fill_query(f"{scope} {exception}", words[:5]))
    operators = list_rare_operators(failure)
    if operators:
        asked.append(
            _fill_query(f"{scope} torch.compile", [strip_module(name) for name in operators[:4]])
        )
    return asked


def _search_store(failure: ReportedFailure, repository: Repository) -> Iterator[PossibleDuplicate]:
    """Reports of one's own with the same fingerprint, filed or not."""
    reason = (
        "your own report of the same failure: layer, exception and torch frames or operators agree"
    )
    with open_store() as store:
        for report in find_alike(store, failure.stored):
            known = [
                item
                for item in list_filings(store, report.key)
                if item.address == str(repository) and item.state is FilingState.CONFIRMED
            ]
            if known and known[0].url:
                yield PossibleDuplicate(
                    0.95, (reason,), report.title, known[0].url, known[0].number
                )
            else:
                yield PossibleDuplicate(
                    0.9, (f"{reason}; not filed here",), report.title, report.folder
                )


def _search_tracker(
    session: TrackerSession, query: str, failure: ReportedFailure
) -> tuple[list[PossibleDuplicate], bool]:
    """What one search finds, weighed, and whether it gave up before its end."""
    with session.explain_failures(
        f"search for duplicates in {query.split()[0].removeprefix('repo:')}"
    ):
        results: Iterable[Issue] = session.github.search_issues(query)
        found = [_weigh(issue, failure) for issue in itertools.islice(results, _PER_SEARCH)]
        return found, is_incomplete(results)


def _weigh(issue: Issue, failure: ReportedFailure) -> PossibleDuplicate:
    labels = [clean_line(label.name) for label in issue.labels]
    title, body = clean_line(issue.title or "", 150), clean_text(issue.body or "")
    score, reasons = weigh(failure, title, body, labels)
    return PossibleDuplicate(
        score, tuple(reasons), title, clean_line(issue.html_url), issue.number, issue.state
    )


def _fill_query(query: str, words: Iterable[str]) -> str:
    for word in words:
        if len(query) + len(word) + 1 <= _QUERY_LIMIT:
            query += f" {word}"
    return query
