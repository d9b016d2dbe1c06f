"""The store survives what happens to files: other processes, a full disk, a newer version, a file
that is none.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reporter.core.errors import UsageError
from reporter.store import database
from reporter.store.database import find_store_path, open_store, open_transaction
from tests.support.places import ROOT
from tests.support.scripts import script


def test_two_processes_that_decide_on_what_they_read_never_decide_the_same(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "store.sqlite3"
    command = [sys.executable, script("store/counts"), path]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    both = [subprocess.Popen(command, env=environment) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    with open_store(path) as store:
        assert store.execute("SELECT COUNT(*), MAX(number) FROM filings").fetchone()[:] == (40, 40)
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_store_may_be_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BUGREPORT_STORE", "~/store.sqlite3")
    assert find_store_path() == tmp_path / "store.sqlite3"


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    with open_store(tmp_path / "s") as store:
        with pytest.raises(KeyError), open_transaction(store):
            store.execute("INSERT INTO filings VALUES ('k', 'r', 'sent', 1, '', '', '')")
            raise KeyError
        assert store.execute("SELECT COUNT(*) FROM filings").fetchone()[0] == 0


def test_what_is_no_store_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be read as one" * 100)
    with pytest.raises(UsageError, match="cannot be used"), open_store(tmp_path / "text"):
        pass
    with pytest.raises(UsageError, match="cannot be used"), open_store(tmp_path / "text" / "store"):
        pass
    sqlite3.connect(tmp_path / "new").execute("PRAGMA user_version = 99").connection.close()
    with pytest.raises(UsageError, match="newer bugreport"), open_store(tmp_path / "new"):
        pass


def test_the_store_lies_where_its_variable_says_or_in_the_users_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "mine"))
    assert find_store_path() == tmp_path / "mine"
    with open_store():
        assert (tmp_path / "mine").exists()
    monkeypatch.setenv("BUGREPORT_STORE", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert find_store_path() == tmp_path / "data" / "bugreport" / "store.sqlite3"


def test_what_was_said_is_on_the_disk_and_readers_do_not_wait(tmp_path: Path) -> None:
    with open_store(tmp_path / "deep" / "s") as store:
        assert store.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert store.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL
        with open_transaction(store), open_store(tmp_path / "deep" / "s") as reader:
            assert reader.execute("SELECT COUNT(*) FROM filings").fetchone()[0] == 0
    assert (tmp_path / "deep").stat().st_mode & 0o777 == 0o700


def test_a_store_whose_mode_cannot_be_set_is_used_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chmod(path: Path, mode: int) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(os, "chmod", chmod)
    with open_store(tmp_path / "s") as store:
        assert store.execute("SELECT COUNT(*) FROM filings").fetchone()[0] == 0


def test_an_older_store_grows_and_keeps_what_it_knows(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with open_store(path) as store:
        newest = store.execute("PRAGMA user_version").fetchone()[0]
        columns = [row["name"] for row in store.execute("PRAGMA table_info(checks)")]
    old = sqlite3.connect(tmp_path / "old", isolation_level=None)
    old.execute(
        "CREATE TABLE checks (id INTEGER PRIMARY KEY, run TEXT NOT NULL, time TEXT NOT NULL, "
        "repro TEXT NOT NULL, key TEXT NOT NULL, release TEXT NOT NULL, torch TEXT NOT NULL, "
        "python TEXT NOT NULL, outcome TEXT NOT NULL, "
        "detail TEXT NOT NULL, seconds REAL NOT NULL, UNIQUE (run, key, release))"
    )
    old.execute("INSERT INTO checks VALUES (1, 'r', 't', 'x', 'k', 'v', '2', '3', 'fixed', '', 1)")
    old.execute("PRAGMA user_version = 1")
    old.close()
    for _ in range(2):
        with open_store(tmp_path / "old") as store:
            assert store.execute("PRAGMA user_version").fetchone()[0] == newest
            row = store.execute("SELECT * FROM checks").fetchone()
            assert row.keys() == columns
            assert (row["outcome"], row["hits"], row["build"], row["issue"]) == ("fixed", 0, "", "")


def change_connections(
    monkeypatch: pytest.MonkeyPatch,
    execute: Callable[[sqlite3.Connection, str], sqlite3.Cursor | None],
) -> None:
    """Statements of connections that are opened from now on go to `execute` first; what it leaves
    to SQLite is None.
    """

    class Changed(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            return execute(self, statement) or super().execute(statement, *values)

    true = sqlite3.connect
    monkeypatch.setattr(
        database.sqlite3, "connect", lambda *given, **named: true(*given, factory=Changed, **named)
    )


def test_a_store_that_is_locked_for_a_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(database.time, "sleep", sleep)
    monkeypatch.setattr(database.time, "monotonic", lambda: now[0])
    errors = ["database is locked", "database is locked"]

    def execute(connection: sqlite3.Connection, statement: str) -> None:
        if errors and statement == "PRAGMA journal_mode = WAL":
            raise sqlite3.OperationalError(errors.pop(0))

    change_connections(monkeypatch, execute)
    with open_store(tmp_path / "s") as store:
        assert errors == [] and now == [pytest.approx(100.04)]
        assert store.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    errors += ["database is locked"] * 5000
    with pytest.raises(UsageError, match="locked"), open_store(tmp_path / "s"):
        pass
    assert now[0] == pytest.approx(130.06, abs=0.05)
    errors[:] = ["disk I/O error"]
    with pytest.raises(UsageError, match="disk"), open_store(tmp_path / "s"):
        pass


def test_a_store_that_another_process_has_just_brought_up_to_date_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look without the lock and the look with it, the other one was quicker."""
    looks: list[str] = []

    def execute(connection: sqlite3.Connection, statement: str) -> sqlite3.Cursor | None:
        if statement != "PRAGMA user_version":
            return None
        looks.append(statement)
        return connection.cursor().execute("SELECT 0") if len(looks) == 1 else None

    with open_store(tmp_path / "s") as store:
        newest = store.execute("PRAGMA user_version").fetchone()[0]
    change_connections(monkeypatch, execute)
    with open_store(tmp_path / "s") as store:
        assert len(looks) == 2
        assert store.execute("PRAGMA user_version").fetchone()[0] == newest > 0
