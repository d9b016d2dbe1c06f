"""A run in the store."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

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


def test_a_run_that_begins_beside_the_lock_is_not_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, beside = tmp_path / "store", []

    def lock_slowly(descriptor: int, how: int) -> None:
        """Another command is told that the lock is taken and begins, before its holder goes on."""
        flock(descriptor, how)
        if not beside and os.readlink(f"/proc/self/fd/{descriptor}").endswith(".lock"):
            beside.append("")
            with open_store(path) as other, runs.begin(other, path, ["a"], "check") as begun:
                beside.append(begun.id)

    flock = fcntl.flock
    monkeypatch.setattr("fcntl.flock", lock_slowly)
    with open_store(path) as store, runs.begin(store, path, ["a"], "check") as run:
        assert run.id not in beside and beside[1]
    # once both are dead, the newest one is gone on with
    with open_store(path) as store, runs.begin(store, path, ["a"], "check") as again:
        assert again.id in (run.id, beside[1])


def test_what_could_not_be_judged_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "store"
    known, unknown = plan(2).list_tasks({})
    with open_store(path) as store, runs.begin(store, path, ["a"], "check") as cut_off:
        runs.keep(store, cut_off.id, result(known))
        runs.keep(store, cut_off.id, result(unknown, "cannot_judge"))
    with open_store(path) as store, runs.begin(store, path, ["a"], "check") as again:
        assert (again.id, list(again.done)) == (cut_off.id, [known.cell])
        assert runs.keep(store, again.id, result(unknown))
