"""`bugreport check`: plan, run what is not known yet, and say what it means.

Everything that a check finds goes into the store at once, so nothing is lost on Ctrl-C or kill -9,
and the same command goes on where it was.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace

from reporter.check import issue_subject, runs
from reporter.check.arguments import CheckArguments
from reporter.check.engine import Engine, open_local
from reporter.check.plan import Plan, add_references, compare, refuse_nothing
from reporter.check.result_sink import ResultSink, StoredResultSink
from reporter.check.results import CheckSummary, OutcomeChange
from reporter.check.runs import Cell
from reporter.check.subject import CheckSubject, read_stored_subjects, read_subjects
from reporter.check.work import CheckResult
from reporter.core.errors import UsageError
from reporter.core.kinds import CheckOutcome
from reporter.core.progress import Progress, open_progress
from reporter.core.settings import ProcessOptions, TalkOptions
from reporter.environments.selection import Selection, select_releases
from reporter.store.database import find_store_path, open_store
from reporter.tracker.preview import Prompt
from templates.text import pluralize


def check(
    asked: CheckArguments,
    selection: Selection,
    processes: ProcessOptions,
    talk: TalkOptions,
    user: Prompt | None = None,
    engine: Engine | None = None,
) -> CheckSummary:
    """Check repros on the releases of `selection`.

    Args:
        processes: how they run; `timeout` is in seconds, for each run.
        user: is shown the programs of issues that are to run without a sandbox, and asked; None:
            nobody can be.
        engine: makes the checks; None: processes of this machine.

    Raises:
        BugreportError: there is nothing to check, or nothing to check it with.
    """
    shard = _read_shard(asked.shard)
    with open_progress(talk) as progress, _open_usable_store(asked.all, progress) as store:
        plan = _build_plan(asked, selection, processes.timeout, store, user)
        with contextlib.ExitStack() as stack:
            if engine is None:
                engine = stack.enter_context(open_local(processes, progress.note))
            return carry_out(plan, engine, store, progress, shard)


def _build_plan(
    asked: CheckArguments,
    selection: Selection,
    timeout: float,
    store: sqlite3.Connection | None,
    user: Prompt | None,
) -> Plan:
    """Which repros, where, with `timeout` seconds for each run.

    Raises:
        UsageError: a repro or a release is none.
        CannotJudgeError: somebody who was asked did not want an issue's code to run.
    """
    found: dict[str, CheckSubject] = {}
    if asked.all and store is not None:
        found.update((subject.key, subject) for subject in read_stored_subjects(store))
    for name in asked.repros:
        is_folder = asked.all and not issue_subject.is_issue(name)
        several = (
            read_subjects([name])
            if is_folder
            else iter([issue_subject.resolve_subject(name, asked.trust, user)])
        )
        for subject in several:
            found.setdefault(subject.key, subject)
    subjects = add_references(list(found.values()), store)
    refuse_nothing(subjects)
    return Plan(
        subjects,
        select_releases(selection),
        timeout,
        asked.fresh or asked.exit_code,
        asked.skip_known,
    )


@contextlib.contextmanager
def _open_usable_store(is_needed: bool, progress: Progress) -> Iterator[sqlite3.Connection | None]:
    """The store; a single check does without one that cannot be used."""
    with contextlib.ExitStack() as stack:
        store = None
        try:
            store = stack.enter_context(open_store())
        except UsageError as error:
            if is_needed:
                raise
            progress.note(f"nothing is kept of this check: {error}")
        yield store


def carry_out(
    plan: Plan,
    engine: Engine,
    store: sqlite3.Connection | None,
    progress: Progress,
    shard: tuple[int, int] | None = None,
) -> CheckSummary:
    """Run what an interrupted run of the plan has left, and put the results in order."""
    cells = [cell for cell in plan.cells if belongs(cell, shard)]
    if store is None:
        return _run(plan, cells, engine, ResultSink(), progress)
    kind = "check" if shard is None else f"check {shard[0]}/{shard[1]}"
    with runs.begin(store, find_store_path(), plan.identity, kind) as run:
        keeper = StoredResultSink(store, run)
        found = _run(plan, cells, engine, keeper, progress)
        runs.finish(store, run.id)
        return found


def _run(
    plan: Plan, cells: Sequence[Cell], engine: Engine, keeper: ResultSink, progress: Progress
) -> CheckSummary:
    before = keeper.find_last_results(plan.cells)
    wanted = set(cells)
    for check in plan.find_known(before):
        if check.cell in wanted:
            keeper.keep(check)
    tasks = [t for t in plan.list_tasks(before) if t.cell in wanted and t.cell not in keeper.found]
    if plan.skip:
        alike = {
            key: keeper.list_results_with_commit(key)
            for key in dict.fromkeys(task.subject.key for task in tasks)
        }
        tasks = [replace(task, alike=alike[task.subject.key]) for task in tasks]
    progress.begin_stage(
        "check",
        f"{pluralize(len(wanted), 'check')}, {len(wanted) - len(tasks)} known from before",
    )

    def keep(check: CheckResult) -> None:
        keeper.keep(check)
        progress.update(len(keeper.found), f"{check.repro} on torch {check.torch}: {check.outcome}")

    engine.run(tasks, keep)
    results = tuple(keeper.found[cell] for cell in cells if cell in keeper.found)
    told = compare(plan.subjects, results)
    for old, new in zip(results, told):
        if old != new:
            keeper.amend(new)
    return CheckSummary(told, _find_changes(told, before))


def _find_changes(
    results: Sequence[CheckResult], before: dict[Cell, CheckResult]
) -> tuple[OutcomeChange, ...]:
    """The cells that show something else than the last time; what cannot be judged now has not
    changed.
    """
    return tuple(
        OutcomeChange(before[check.cell].outcome, check)
        for check in results
        if check.cell in before
        and check.outcome not in (CheckOutcome.CANNOT_JUDGE, before[check.cell].outcome)
    )


def _read_shard(text: str | None) -> tuple[int, int] | None:
    """The I and N of `--shard I/N`.

    Raises:
        UsageError: the text is no such thing.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    number, count = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    if not 1 <= number <= count:
        raise UsageError(f"--shard is {text!r}, but must be I/N with I from 1 to N, such as 2/8")
    return number, count


def belongs(cell: Cell, shard: tuple[int, int] | None) -> bool:
    """Whether a cell is one of shard i of n.

    All cells of a repro are in the same shard, so that they can be compared.
    """
    if shard is None:
        return True
    import hashlib

    number, count = shard
    return (
        int.from_bytes(hashlib.sha256(cell[0].encode()).digest()[:8], "big") % count == number - 1
    )
