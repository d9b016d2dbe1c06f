"""Where the results of a check go."""

from __future__ import annotations

from pathlib import Path

import msgspec

from reporter.check import runs
from reporter.check.result_sink import ResultSink, StoredResultSink
from reporter.store.database import open_store
from tests.support.checking import plan, result

TASKS = plan(2).list_tasks({})
ONE = result(TASKS[0], build="2.6.0+cpu", git="abc", time="2026-01-01")
AGAIN = msgspec.structs.replace(ONE, outcome="reproduces", detail="again")


def test_without_a_store_the_first_result_of_a_cell_counts_until_it_is_amended() -> None:
    memory = ResultSink()
    assert (
        memory.find_last_results([ONE.cell]) == {}
        and memory.list_results_with_commit(ONE.key) == ()
    )
    memory.keep(ONE)
    memory.keep(AGAIN)
    assert memory.found == {ONE.cell: ONE}
    memory.amend(AGAIN)
    assert memory.found == {ONE.cell: AGAIN}
    assert (
        memory.find_last_results([ONE.cell]) == {}
        and memory.list_results_with_commit(ONE.key) == ()
    )


def test_with_a_store_every_result_is_there_before_anybody_hears_of_it(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with open_store(path) as store, runs.begin(store, path, ["a"], "check") as run:
        kept = StoredResultSink(store, run)
        assert kept.found == {}
        kept.keep(ONE)
        kept.keep(AGAIN)
        assert kept.found == {ONE.cell: ONE} and runs.list_results(store, run.id) == [ONE]
        kept.amend(AGAIN)
        assert kept.found == {ONE.cell: AGAIN}
        assert [(c.outcome, c.detail) for c in runs.list_results(store, run.id)] == [
            ("reproduces", "again")
        ]


def test_an_interrupted_run_is_gone_on_with_and_a_finished_one_is_what_was_before(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store"
    with open_store(path) as store:
        with runs.begin(store, path, ["a"], "check") as run:
            StoredResultSink(store, run).keep(ONE)
        with runs.begin(store, path, ["a"], "check") as run:
            kept = StoredResultSink(store, run)
            assert kept.found == {ONE.cell: ONE}
            assert kept.find_last_results([ONE.cell]) == {}
            runs.finish(store, run.id)
        with runs.begin(store, path, ["a"], "check") as run:
            kept = StoredResultSink(store, run)
            assert kept.found == {} and kept.find_last_results([ONE.cell]) == {ONE.cell: ONE}
            assert (
                kept.list_results_with_commit(ONE.key) == (ONE,)
                and kept.list_results_with_commit("other") == ()
            )
