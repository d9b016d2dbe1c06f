"""A result is in the store the moment it is known, once: a run that was killed is gone on with,
never begun anew.

A run is known by its plan: which repros, where, and how (`Plan.identity`). What a command with the
same plan finds, and what it does:

    nothing, or runs that came to their end      begins a new run
    a run that was cut off                       takes it over; what could not be judged goes first
    a run that was cut off a week ago            begins a new run
    a run at which its command still is          begins a new run; each has its results
    a run of another plan, or of another torch   does not find it
      in the same interpreter or wheel

The lock file of a plan tells whether a command is still at it. Each cell of a run counts once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reporter.check.work import CheckResult
from reporter.core.kinds import CheckOutcome
from reporter.core.signature import Signature
from reporter.report.sections.base import build_section
from reporter.report.sections.verdict import FailureSection
from reporter.store.database import format_now, open_transaction
from reporter.store.locks import try_lock

Cell = tuple[str, str]
#: The fields of a result that are columns by their name.
_PLAIN = tuple(name for name in CheckResult.__struct_fields__ if name not in ("runs", "signature"))
#: Days after which an unfinished run is no longer gone on with.
_STALE = 7


@dataclass(frozen=True)
class CheckRun:
    """One run of a plan; `done` are the cells that an interrupted attempt has left."""

    id: str
    done: Mapping[Cell, CheckResult]


@contextlib.contextmanager
def begin(
    store: sqlite3.Connection, path: Path, plan: Sequence[str], kind: str
) -> Iterator[CheckRun]:
    """The run for a plan, new or taken over. It is not finished until `finish` says so.

    One that was not finished is taken over for `_STALE` days, unless another process works on it.

    Args:
        path: the file of `store`; the lock of the plan lies beside it.
        plan: what makes two plans the same, as `Plan.identity` has it.
        kind: `bisect`, `check`, or `check 1/4` for a shard.
    """
    digest = hashlib.sha256("\n".join([kind, *plan]).encode()).hexdigest()[:20]
    # before the lock: who does not get it begins a run of its own, which is in work
    left = _find_unfinished(store, digest)
    # the lock ends with the process, however that ends
    with try_lock(path.with_name(f"{path.name}.{digest}.lock")) as is_alone:
        yield _begin(store, digest, kind, left if is_alone else None)


def _find_unfinished(store: sqlite3.Connection, digest: str) -> str | None:
    """The newest run of a plan that was not finished and is not stale."""
    row = store.execute(
        "SELECT run FROM runs WHERE plan = ? AND finished IS NULL AND started >"
        " datetime('now', ?) ORDER BY started DESC",
        (digest, f"-{_STALE} days"),
    ).fetchone()
    return None if row is None else str(row["run"])


def _begin(store: sqlite3.Connection, digest: str, kind: str, left: str | None) -> CheckRun:
    """A new run, or the one that was `left`, unless it has been finished meanwhile."""
    with open_transaction(store):
        unfinished = "SELECT run FROM runs WHERE run = ? AND finished IS NULL"
        if left is not None and store.execute(unfinished, (left,)).fetchone() is not None:
            # the network may be back, or there may be room again
            store.execute(
                "DELETE FROM checks WHERE run = ? AND outcome = ?",
                (left, CheckOutcome.CANNOT_JUDGE),
            )
            return CheckRun(left, {check.cell: check for check in list_results(store, left)})
        number = store.execute("SELECT COUNT(*) FROM runs WHERE plan = ?", (digest,)).fetchone()[0]
        name = f"{digest}-{number}"
        store.execute(
            "INSERT INTO runs (run, plan, kind, started) VALUES (?, ?, ?, ?)",
            (name, digest, kind, format_now()),
        )
    return CheckRun(name, {})


def keep(store: sqlite3.Connection, run: str, check: CheckResult) -> bool:
    """Stores a result.

    Args:
        run: the `id` of a `CheckRun`.

    Returns:
        False if the run has a result for this cell already, which then stays.
    """
    shown = json.dumps(check.failure.to_json()) if check.failure else None
    with open_transaction(store):
        cursor = store.execute(
            f"INSERT OR IGNORE INTO checks (run, hits, runs, shown, {', '.join(_PLAIN)})"
            f" VALUES (?, ?, ?, ?{', ?' * len(_PLAIN)})",
            (run, *check.runs, shown, *(getattr(check, name) for name in _PLAIN)),
        )
        return cursor.rowcount > 0


def amend(store: sqlite3.Connection, run: str, check: CheckResult) -> None:
    """Writes what a result turned out to be when all others were known.

    Args:
        run: the `id` of a `CheckRun`, which has a result for this cell.
        check: only its outcome and its detail are written.
    """
    with open_transaction(store):
        store.execute(
            "UPDATE checks SET outcome = ?, detail = ? WHERE run = ? AND key = ? AND release = ?",
            (check.outcome, check.detail, run, *check.cell),
        )


def finish(store: sqlite3.Connection, run: str) -> None:
    """The run is complete: the next one of its plan begins anew."""
    with open_transaction(store):
        store.execute("UPDATE runs SET finished = ? WHERE run = ?", (format_now(), run))


def list_results(store: sqlite3.Connection, run: str) -> list[CheckResult]:
    """What a run has found so far, in the order in which it did."""
    rows = store.execute("SELECT * FROM checks WHERE run = ? ORDER BY id", (run,))
    return [_read_result(row) for row in rows]


def find_last_results(
    store: sqlite3.Connection, cells: Sequence[Cell], except_run: str
) -> dict[Cell, CheckResult]:
    """The latest earlier result of each cell that could be judged.

    Args:
        cells: (key of the repro, key of the release).
        except_run: the `id` of the run whose own results do not count.

    Returns:
        The results by cell; a cell without one is left out.
    """
    found = {}
    for key, release in cells:
        row = store.execute(
            "SELECT * FROM checks WHERE key = ? AND release = ? AND run != ? AND outcome != ?"
            " ORDER BY time DESC, id DESC LIMIT 1",
            (key, release, except_run, CheckOutcome.CANNOT_JUDGE),
        ).fetchone()
        if row is not None:
            found[key, release] = _read_result(row)
    return found


def list_results_with_commit(store: sqlite3.Connection, key: str) -> tuple[CheckResult, ...]:
    """What a repro showed in the builds judged last, one result for each commit and build; the
    newest first.
    """
    rows = store.execute(
        "SELECT * FROM checks WHERE key = ? AND git IS NOT NULL AND build != '' AND outcome IN"
        " (?, ?) ORDER BY id DESC LIMIT 50",
        (key, CheckOutcome.REPRODUCES, CheckOutcome.FIXED),
    )
    found: dict[tuple[str | None, str], CheckResult] = {}
    for row in rows:
        check = _read_result(row)
        found.setdefault((check.git, check.build), check)
    return tuple(found.values())


def find_first_failure(store: sqlite3.Connection, key: str) -> Signature | None:
    """The failure that a repro was first seen to show anywhere."""
    row = store.execute(
        "SELECT shown FROM checks WHERE key = ? AND outcome = ? AND shown IS NOT NULL"
        " ORDER BY id LIMIT 1",
        (key, CheckOutcome.REPRODUCES),
    ).fetchone()
    return Signature.from_json(json.loads(row["shown"])) if row else None


def _read_result(row: sqlite3.Row) -> CheckResult:
    shown = build_section(FailureSection, json.loads(row["shown"])) if row["shown"] else None
    plain = {name: row[name] for name in _PLAIN}
    plain["outcome"] = CheckOutcome(row["outcome"])
    return CheckResult(**plain, runs=(row["hits"], row["runs"]), signature=shown)
