"""Where results go as they come: each cell once. They are stored before they are reported."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from reporter.check import runs
from reporter.check.runs import Cell
from reporter.check.work import CheckResult


class ResultSink:
    """Results of a check, in memory only."""

    def __init__(self) -> None:
        self.found: dict[Cell, CheckResult] = {}

    def find_last_results(self, cells: Sequence[Cell]) -> dict[Cell, CheckResult]:
        """What the cells showed the last time: always empty."""
        return {}

    def list_results_with_commit(self, key: str) -> tuple[CheckResult, ...]:
        """What a repro showed in builds whose commit is known: always empty."""
        return ()

    def keep(self, check: CheckResult) -> None:
        """The first result of a cell counts."""
        self.found.setdefault(check.cell, check)

    def amend(self, check: CheckResult) -> None:
        """A result turned out to be another one."""
        self.found[check.cell] = check


class StoredResultSink(ResultSink):
    """Results that go into the store as they come."""

    def __init__(self, store: sqlite3.Connection, run: runs.CheckRun) -> None:
        super().__init__()
        self._store, self._run = store, run
        self.found.update(run.done)

    def find_last_results(self, cells: Sequence[Cell]) -> dict[Cell, CheckResult]:
        """What the cells showed in earlier runs."""
        return runs.find_last_results(self._store, cells, self._run.id)

    def list_results_with_commit(self, key: str) -> tuple[CheckResult, ...]:
        """What a repro showed in earlier runs, in builds whose commit is known."""
        return runs.list_results_with_commit(self._store, key)

    def keep(self, check: CheckResult) -> None:
        """Into the store first, and only once."""
        if check.cell not in self.found:
            runs.keep(self._store, self._run.id, check)
            self.found[check.cell] = check

    def amend(self, check: CheckResult) -> None:
        """The store is told as well."""
        runs.amend(self._store, self._run.id, check)
        super().amend(check)
