"""A run in the store."""

from __future__ import annotations

from pathlib import Path

from reporter.check import runs
from reporter.store.database import open_store
from tests.support.checking import plan, result


def test_a_second_result_of_a_cell_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "store"
    tasks = plan(4).list_tasks({})
    with open_store(path) as store, runs.begin(store, path, ["a"], "check") as run:
        assert runs.keep(store, run.id, result(tasks[0]))
        assert not runs.keep(store, run.id, result(tasks[0], "reproduces"))
        assert [check.outcome for check in runs.list_results(store, run.id)] == ["fixed"]
