"""Where a report was sent, as a machine with four states; what is written here is written before it
is done.

    planned ──► sent ──► confirmed
       ▲         │ ╲        ▲
       └─refused─┘  unknown ┘   found by its marker, or sent again after a search that did not find
       it

`sent` is written before the request leaves. Whoever finds it while nobody holds the report's lock
finds a process that died on the way, which is as good as `unknown`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import NamedTuple

from reporter.core.kinds import assert_never
from reporter.core.tokens import redact
from reporter.store.database import open_transaction

#: Characters of what happened last; it may repeat what a server said.
_LONGEST_DETAIL = 500


class FilingState(str, Enum):
    """See the picture above."""

    PLANNED = "planned"
    SENT = "sent"
    CONFIRMED = "confirmed"
    UNKNOWN = "unknown"

    @property
    def is_open_question(self) -> bool:
        """Whether a request may have been carried out without our knowledge."""
        match self:
            case FilingState.SENT | FilingState.UNKNOWN:
                return True
            case FilingState.PLANNED | FilingState.CONFIRMED:
                return False
        assert_never(self)


@dataclass(frozen=True)
class Filing:
    """A report at a place: `[HOST/]OWNER/REPO` for an issue, with `#N` for a comment, with `#N/log`
    for its log, with `#N/state/…` for what `check --comment` said there.

    `number` is that of the issue, `url` that of the issue or comment; `detail` says what happened
    last.
    """

    key: str
    address: str
    state: FilingState
    number: int | None
    url: str | None
    detail: str
    updated: str

    @property
    def is_issue(self) -> bool:
        """Whether it is an issue that has arrived, and no comment on one."""
        return self.number is not None and "#" not in self.address


@dataclass(frozen=True)
class KnownIssue:
    """What the tracker last said of an issue.

    `state` is open or closed, `reason` why it was closed.
    """

    repository: str
    number: int
    title: str
    state: str
    reason: str
    labels: tuple[str, ...]
    synced: str


def find_filing(store: sqlite3.Connection, key: str, address: str) -> Filing | None:
    """The state of one report at one place; None where it was never to be sent there.

    Args:
        key: of the report, from the text of its repro.
        address: as `Filing` has it.
    """
    row = store.execute(
        "SELECT * FROM filings WHERE key = ? AND repository = ?", (key, address)
    ).fetchone()
    return _build_filing(row) if row else None


def list_filings(store: sqlite3.Connection, key: str | None = None) -> list[Filing]:
    """Those of one report, or all; the oldest change first."""
    where, values = ("WHERE key = ?", (key,)) if key is not None else ("", ())
    rows = store.execute(f"SELECT * FROM filings {where} ORDER BY updated, repository", values)
    return [_build_filing(row) for row in rows]


def set_state(
    store: sqlite3.Connection,
    key: str,
    address: str,
    state: FilingState,
    *,
    number: int | None = None,
    url: str | None = None,
    detail: str = "",
) -> None:
    """Writes the next state, and a line of its history, in one transaction that is on the disk when
    this returns.

    Args:
        key: of the report, from the text of its repro.
        address: of the project, as `host/owner/name`.
        number, url: of the issue or comment, once they are known.
        detail: a sentence for the history; tokens are taken out of it, and it is cut.

    Raises:
        BugreportError: the store cannot be written.
    """
    time = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    with open_transaction(store):
        detail = redact(detail)[:_LONGEST_DETAIL]
        store.execute(
            """INSERT INTO filings (key, repository, state, number, url, detail, updated) VALUES (?,
            ?, ?, ?, ?, ?, ?)
            ON CONFLICT (key, repository) DO UPDATE SET state = excluded.state, number =
            excluded.number,
            url = excluded.url, detail = excluded.detail, updated = excluded.updated""",
            (key, address, state.value, number, url, detail, time),
        )
        store.execute(
            "INSERT INTO filing_history (key, repository, time, state, detail) VALUES (?, ?, ?,"
            " ?, ?)",
            (key, address, time, state.value, detail),
        )


def find_first_sending(store: sqlite3.Connection, key: str, address: str) -> str | None:
    """When the report first left for this place: UTC in ISO 8601, or None if it never did.

    Args:
        key: of the report, from the text of its repro.
        address: as `Filing` has it.
    """
    row = store.execute(
        "SELECT MIN(time) FROM filing_history WHERE key = ? AND repository = ? AND state = ?",
        (key, address, FilingState.SENT.value),
    ).fetchone()
    return str(row[0]) if row[0] else None


class FilingStep(NamedTuple):
    """A step of a report's filings: when it was (UTC in ISO 8601), where, and the state that began
    there.
    """

    time: str
    place: str
    state: str
    detail: str


def list_history(store: sqlite3.Connection, key: str) -> list[FilingStep]:
    """Every step of a report's filings, the first one first."""
    rows = store.execute(
        "SELECT time, repository, state, detail FROM filing_history WHERE key = ? ORDER BY id",
        (key,),
    )
    return [FilingStep(*map(str, row)) for row in rows]


def remember_issue(store: sqlite3.Connection, issue: KnownIssue) -> None:
    """Keeps what the tracker says of an issue now."""
    store.execute(
        "INSERT OR REPLACE INTO issues (repository, number, title, state, reason, labels, synced)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            issue.repository,
            issue.number,
            issue.title,
            issue.state,
            issue.reason,
            json.dumps(issue.labels),
            issue.synced,
        ),
    )


def load_issue(store: sqlite3.Connection, repository: str, number: int) -> KnownIssue | None:
    """What the tracker last said of an issue, or None if it was never asked.

    Args:
        repository: as `[HOST/]OWNER/REPO`.
        number: of the issue in it.
    """
    row = store.execute(
        "SELECT * FROM issues WHERE repository = ? AND number = ?", (repository, number)
    ).fetchone()
    if row is None:
        return None
    labels: Sequence[str] = json.loads(row["labels"])
    return KnownIssue(
        repository=row["repository"],
        number=row["number"],
        title=row["title"],
        state=row["state"],
        reason=row["reason"],
        labels=tuple(labels),
        synced=row["synced"],
    )


def name_repository(address: str) -> str:
    """The project of a place."""
    return address.partition("#")[0]


def is_beside(address: str) -> bool:
    """Whether a place is something beside an issue or comment, which has no state of its own."""
    return "/" in address.partition("#")[2]


def _build_filing(row: sqlite3.Row) -> Filing:
    return Filing(
        key=row["key"],
        address=row["repository"],
        state=FilingState(row["state"]),
        number=row["number"],
        url=row["url"],
        detail=row["detail"],
        updated=row["updated"],
    )
