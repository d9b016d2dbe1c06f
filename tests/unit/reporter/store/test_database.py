"""The store survives what happens to files: other processes, a full disk, a newer version, a file that is none."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from reporter.errors import UsageError
from reporter.store.database import opened, transaction
from tests.support.places import ROOT
from tests.support.scripts import script


def test_two_processes_that_decide_on_what_they_read_never_decide_the_same(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "store.sqlite3"
    command = [sys.executable, script("store/counts"), path]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    both = [subprocess.Popen(command, env=environment) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    with opened(path) as store:
        assert store.execute("SELECT COUNT(*), MAX(number) FROM filings").fetchone()[:] == (40, 40)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        with pytest.raises(KeyError), transaction(store):
            store.execute("INSERT INTO filings VALUES ('k', 'r', 'sent', 1, '', '', '')")
            raise KeyError
        assert store.execute("SELECT COUNT(*) FROM filings").fetchone()[0] == 0


def test_what_is_no_store_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be read as one" * 100)
    with pytest.raises(UsageError, match="cannot be used"), opened(tmp_path / "text"):
        pass
    with pytest.raises(UsageError, match="cannot be used"), opened(tmp_path / "text" / "store"):
        pass
    sqlite3.connect(tmp_path / "new").execute("PRAGMA user_version = 99").connection.close()
    with pytest.raises(UsageError, match="newer bugreport"), opened(tmp_path / "new"):
        pass
