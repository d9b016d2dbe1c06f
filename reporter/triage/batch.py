"""Many issues in one run: each is judged alone and noted at once, so a run that was stopped costs
one issue.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from github.Issue import Issue

from reporter.core.errors import BugreportError, CannotJudgeError, UsageError
from reporter.core.json_values import Json
from reporter.sandbox import bubblewrap
from reporter.store.database import open_store
from reporter.store.triages import find_triage, remember
from reporter.tracker.http_session import TrackerSession, is_incomplete
from reporter.tracker.plain_text import clean_line
from reporter.tracker.repository import IssueAddress, Repository
from reporter.triage.reading.thread import fetch
from reporter.triage.result import SCHEMA_VERSION, Status
from reporter.triage.triage import MessageSink, TriageRequest, triage


@dataclass(frozen=True)
class TriagedSearch:
    """The documents of all issues of a search, in the search's order."""

    query: str
    documents: tuple[Mapping[str, Any], ...]

    @property
    def exit_code(self) -> int:
        """0: each was triaged; 125: at least one could not be judged here."""
        judged = all(document.get("status") != Status.CANNOT_JUDGE for document in self.documents)
        return 0 if judged else CannotJudgeError.exit_code

    def to_json(self) -> Json:
        """The document of --json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "query": self.query,
            "results": [dict(document) for document in self.documents],
        }

    def summarize(self) -> list[str]:
        """A table, and how many there are of each status."""
        rows = [_build_row(document) for document in self.documents]
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
        lines = [
            "  ".join([*(text.ljust(width) for text, width in zip(row, widths)), row[3]]).rstrip()
            for row in rows
        ]
        counts: dict[str, int] = {}
        for row in rows:
            counts[row[1]] = counts.get(row[1], 0) + 1
        total = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        return [*lines, "", f"{len(rows)} issues: {total}" if rows else "the search found no issue"]


def search(
    session: TrackerSession,
    repository: Repository,
    query: str,
    limit: int,
    wanted: TriageRequest,
    user: MessageSink,
) -> TriagedSearch:
    """Triages what a search finds.

    Issues that have not changed since an earlier run are not run again.

    Args:
        query: in the words of the tracker's own search, without `repo:` and `is:`.
        limit: how many issues at most, in the search's order.
        wanted: how each of them is triaged.
        user: gets a line for each issue that is run.

    Raises:
        CannotJudgeError: there is no sandbox.
        AuthenticationError, UsageError, TrackerError: as `TrackerSession.explain_failures` does.
    """
    if not wanted.limits.trust:
        bubblewrap.find_bwrap()
    words = f"repo:{repository.full_name} is:issue {query}"
    with session.explain_failures(f"search {repository}"):
        results: Iterable[Issue] = session.github.search_issues(words)
        found = [
            (int(issue.number), issue.updated_at.isoformat() if issue.updated_at else "")
            for issue in itertools.islice(results, limit)
        ]
        if is_incomplete(results):
            user.say(f"the search of {repository} gave up early, so there may be more issues")
    interpreters = _name_interpreters(wanted)
    documents = []
    for position, (number, changed) in enumerate(found, 1):
        address = IssueAddress(repository, number)
        with open_store() as store:
            document = find_triage(store, str(address), interpreters, changed)
        if document is None:
            user.say(f"{position} of {len(found)}: {address}")
            document = _judge_one(session, address, wanted, user)
            if "error" not in document:
                with open_store() as store:
                    remember(store, str(address), interpreters, changed, document)
        documents.append(document)
    return TriagedSearch(query, tuple(documents))


def _judge_one(
    session: TrackerSession, address: IssueAddress, wanted: TriageRequest, user: MessageSink
) -> Json:
    """The document of one issue; a failure that is the issue's own does not end the others."""
    try:
        return triage(fetch(session, address), wanted, user, session).to_json()
    except (CannotJudgeError, UsageError) as error:
        return _build_failure(address, error)


def _build_failure(address: IssueAddress, error: BugreportError) -> Json:
    return {
        "issue": {"name": str(address), "title": "", "url": address.url},
        "status": Status.CANNOT_JUDGE,
        "error": str(error),
    }


def _name_interpreters(wanted: TriageRequest) -> str:
    how = "quick" if wanted.quick else "whole"
    return ", ".join([how, *(f"{info.torch} ({info.version})" for info in wanted.interpreters)])


def _build_row(document: Mapping[str, Any]) -> tuple[str, str, str, str]:
    issue = document.get("issue") or {}
    verdict = document.get("verdict") or {}
    refusal = document.get("refusal") or {}
    said = f"{verdict.get('kind')} {verdict.get('layer')}" if verdict.get("kind") else ""
    name = str(issue.get("name")).rpartition("#")[2]
    return (
        f"#{name}",
        str(document.get("status")),
        said or str(refusal.get("kind", "")),
        clean_line(str(issue.get("title") or document.get("error") or ""), 70),
    )
