"""Many issues in one run: each is judged alone and noted at once, so a run that was stopped costs
one issue.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from github.Issue import Issue

from reporter.core.errors import BugreportError, CannotJudgeError, Interruption
from reporter.core.json_values import Json
from reporter.core.version import VERSION
from reporter.execution.error_log import write_error_log
from reporter.sandbox import bubblewrap
from reporter.store.database import open_store
from reporter.store.triages import find_triage, remember
from reporter.tracker.http_session import TrackerSession, is_incomplete
from reporter.tracker.plain_text import clean_line
from reporter.tracker.repository import IssueAddress, Repository
from reporter.triage.reading.repro_selection import OF_THE_MACHINE
from reporter.triage.reading.stated_failure import StatedFailure, StatedSymptom
from reporter.triage.reading.thread import IssueStatus, Thread, fetch
from reporter.triage.result import SCHEMA_VERSION, Status, Triage
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

    Issues that have not changed since they were judged under the same conditions are not run again.

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
        found = [_read_found(repository, issue) for issue in itertools.islice(results, limit)]
        if is_incomplete(results):
            user.say(f"the search of {repository} gave up early, so there may be more issues")
    conditions = _name_conditions(wanted)
    documents = []
    for position, (thread, changed) in enumerate(found, 1):
        with open_store() as store:
            document = find_triage(store, thread.name, conditions, changed)
        if document is None:
            user.say(f"{position} of {len(found)}: {thread.name}")
            document = _judge_one(session, thread, wanted, user)
            if _is_lasting(document):
                with open_store() as store:
                    remember(store, thread.name, conditions, changed, document)
        documents.append(document)
    return TriagedSearch(query, tuple(documents))


def _read_found(repository: Repository, issue: Issue) -> tuple[Thread, str]:
    """What a search says of an issue, without its posts, and when it was changed last."""
    address = IssueAddress(repository, int(issue.number))
    title, status = clean_line(issue.title or "", 300), IssueStatus(state=str(issue.state))
    changed = issue.updated_at.isoformat() if issue.updated_at else ""
    return Thread(str(address), title, (), address, status), changed


def _judge_one(
    session: TrackerSession, found: Thread, wanted: TriageRequest, user: MessageSink
) -> Json:
    """The document of one issue; whatever goes wrong with it does not end the others."""
    assert found.address is not None
    try:
        return triage(fetch(session, found.address), wanted, user, session).to_json()
    except Interruption:
        raise
    except BugreportError as error:
        return _build_failure(found, str(error))
    except Exception as error:
        log = write_error_log(error)
        where = f"; the details are in {log}" if log is not None else ""
        return _build_failure(found, f"internal error ({type(error).__name__}){where}")


def _build_failure(found: Thread, error: str) -> Json:
    """The document of an issue that could not be triaged: as of any other, and the error."""
    sentence = f"{error[:1].upper()}{error[1:].rstrip('.')}."
    stated = StatedFailure(StatedSymptom.UNKNOWN)
    return {
        **Triage(found, Status.CANNOT_JUDGE, sentence, stated).to_json(),
        "error": error,
    }


def _is_lasting(document: Mapping[str, object]) -> bool:
    """Whether it holds until the issue changes: what this machine lacks, or what went wrong on it,
    may be there the next time.
    """
    refusal = document.get("refusal")
    kind = refusal.get("kind") if isinstance(refusal, Mapping) else None
    return document.get("status") != Status.CANNOT_JUDGE and kind not in OF_THE_MACHINE


def _name_conditions(wanted: TriageRequest) -> str:
    """Everything but the issue that a triage depends on."""
    limits = f"{wanted.limits.timeout:g} s, {wanted.limits.memory:g} GiB, {wanted.runs} runs"
    interpreters = (f"{info.torch} ({info.version})" for info in wanted.interpreters)
    return ", ".join(["quick" if wanted.quick else "whole", *interpreters, limits, VERSION])


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
        clean_line(str(document.get("error") or issue.get("title") or ""), 70),
    )
