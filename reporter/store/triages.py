"""The last triage of each issue, by the conditions under which it was run, so that a run over many
issues goes on where it stopped.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from reporter.core.json_values import Json
from reporter.store.database import format_now


def find_triage(
    store: sqlite3.Connection, issue: str, conditions: str, changed: str
) -> Json | None:
    """The document of an earlier triage, unless the issue has changed since then.

    Args:
        issue: its address, as `[HOST/]OWNER/REPO#N`.
        conditions: everything else that it depends on, as text: interpreters, limits, this tool.
        changed: when the tracker says that the issue was changed last, in ISO 8601.
    """
    row = store.execute(
        "SELECT document FROM triages WHERE issue = ? AND places = ? AND changed = ?",
        (issue, conditions, changed),
    ).fetchone()
    return dict(json.loads(row["document"])) if row is not None else None


def remember(
    store: sqlite3.Connection,
    issue: str,
    conditions: str,
    changed: str,
    document: Mapping[str, Any],
) -> None:
    """Notes a triage in the place of an earlier one.

    Args:
        issue: its address, as `[HOST/]OWNER/REPO#N`.
        conditions: everything else that it depends on, as text: interpreters, limits, this tool.
        changed: when the tracker says that the issue was changed last, in ISO 8601.
        document: of `triage --json`.
    """
    store.execute(
        """INSERT INTO triages (issue, places, changed, time, status, title, document) VALUES (?, ?,
        ?, ?, ?, ?, ?)
        ON CONFLICT (issue, places) DO UPDATE SET changed = excluded.changed, time = excluded.time,
        status = excluded.status, title = excluded.title, document = excluded.document""",
        (
            issue,
            conditions,
            changed,
            format_now(),
            str(document.get("status")),
            str((document.get("issue") or {}).get("title")),
            json.dumps(document),
        ),
    )
