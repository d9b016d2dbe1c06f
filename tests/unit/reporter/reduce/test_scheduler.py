"""The scheduler decides the same for any number of jobs, wherever the answers come first."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future, InvalidStateError
from pathlib import Path
from typing import Any

import pytest

from collectors.protocol.failure import Failure
from collectors.protocol.variation import Overrides
from reporter.core.answer import Answer
from reporter.core.errors import UsageError
from reporter.execution.journal import Journal
from reporter.reduce.scheduler import InterpreterTest, Scheduler, SearchListener, SearchSettings


class FakePool:
    """Answers after a random while: ``bug`` in a text fails as wanted, ``other`` fails
    differently.
    """

    def __init__(self, jobs: int, seed: int = 0, pause: float = 0.004) -> None:
        self.jobs = jobs
        self.submitted: list[str] = []
        self.most = 0
        self._open = 0
        self._pause = pause
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def submit(
        self, text: str, timeout: float | None = None, overrides: Overrides | None = None
    ) -> Future[Answer]:
        future: Future[Answer] = Future()
        with self._lock:
            self.submitted.append(text)
            self._open += 1
            self.most = max(self.most, self._open)
        future.add_done_callback(lambda _: self._close())
        pause = self._random.random() * self._pause
        timer = threading.Timer(pause, self._end, (future, text))
        timer.daemon = True
        timer.start()
        return future

    def _close(self) -> None:
        with self._lock:
            self._open -= 1

    def _end(self, future: Future[Answer], text: str) -> None:
        word = "other" if "other" in text else "bug"
        failure: Failure = {"exception": "RuntimeError", "message": word, "first_line": word}
        fails = "bug" in text or "other" in text
        if "slow" in text:
            answer = Answer("timeout")
        elif "huge" in text:
            answer = Answer("died", signal="SIGKILL", stderr="MemoryError")
        else:
            answer = Answer("fails", failure) if fails else Answer("passes")
        with contextlib.suppress(InvalidStateError):  # cancelled
            future.set_result(answer)


def is_bug(answer: Answer) -> bool:
    return answer.failure is not None and answer.failure["first_line"] == "bug"


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_first_is_the_lowest_index_and_speculation_leaves_no_trace(jobs: int) -> None:
    others: list[str] = []
    pool = FakePool(jobs, seed=jobs)
    scheduler = Scheduler(
        pool, is_bug, listener=SearchListener(on_other=lambda text, answer: others.append(text))
    )
    texts = ["a", "other 1", "b", "c bug", "other 2", "d bug", "e"]
    assert scheduler.find_first(texts) == 3
    assert scheduler.find_first(["x", "other 1", "y"]) is None
    assert scheduler.find_first(["e", "d bug"]) == 1
    assert others == ["other 1"]
    assert scheduler.counts.settled == 8
    assert pool.most <= jobs


def test_the_same_search_for_any_number_of_jobs() -> None:
    def search(jobs: int) -> tuple[list[int | None], int, list[str]]:
        met: list[str] = []
        scheduler = Scheduler(
            FakePool(jobs, seed=jobs),
            is_bug,
            listener=SearchListener(on_other=lambda text, _: met.append(text)),
        )
        chance = random.Random("search")
        results = []
        for _ in range(20):
            texts = [
                f"{chance.choice(['ok', 'ok', 'bug', 'other'])} {chance.randrange(40)}"
                for _ in range(8)
            ]
            results.append(scheduler.find_first(texts))
        return results, scheduler.counts.settled, met

    alone = search(1)
    assert search(2) == alone
    assert search(7) == alone


def test_candidates_are_taken_lazily_and_run_once() -> None:
    taken = itertools.count()

    def endless() -> Iterator[str]:
        for number in taken:
            yield f"{number} bug" if number == 10 else str(number)

    pool = FakePool(3)
    scheduler = Scheduler(pool, is_bug)
    assert scheduler.find_first(endless()) == 10
    assert next(taken) <= 10 + 4 * 3
    before = list(pool.submitted)
    assert scheduler.find_first(["10 bug"]) == 0
    assert pool.submitted == before


def test_overrides_are_part_of_what_is_remembered() -> None:
    pool = FakePool(1)
    scheduler = Scheduler(pool, is_bug)
    scheduler.find_first(["a"])
    scheduler.find_first(["a"], overrides={"backend": "eager"})
    assert pool.submitted == ["a", "a"]


def test_ask_uses_hints_only_to_save_time() -> None:
    pool = FakePool(2)
    scheduler = Scheduler(pool, is_bug)
    assert scheduler.ask("a bug", hints=["b", "c"]) is True
    assert scheduler.ask("b", hints=[]) is False
    assert scheduler.counts.settled == 2
    assert pool.submitted.count("b") == 1


def test_contrast_asks_the_other_interpreter_only_about_what_fails_here() -> None:
    here, there = FakePool(2), FakePool(2)

    def passes(answer: Answer) -> bool:
        return answer.outcome == "passes"

    regression = InterpreterTest(there, lambda answer: not passes(answer), "there")
    assert Scheduler(here, is_bug, contrast=[regression]).find_first(["a", "b bug"]) == 1
    assert there.submitted == ["b bug"]
    fixed = InterpreterTest(FakePool(2), passes, "there")
    assert Scheduler(here, is_bug, contrast=[fixed]).find_first(["a", "b bug"]) is None


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_another_interpreter_refuses_is_handed_on_and_the_jobs_are_shared(jobs: int) -> None:
    """`there` passes what has a "new" in it; all pools together run no more than `jobs`
    candidates.
    """
    under_way, most, lock = set(), [0], threading.Lock()

    class There(FakePool):
        def _end(self, future: Future[Answer], text: str) -> None:
            super()._end(future, "" if "new" in text else text)

    def counted(pool: FakePool) -> FakePool:
        submit = pool.submit

        def counting(text: str, timeout: Any = None, overrides: Any = None) -> Future[Answer]:
            ticket = object()
            with lock:
                under_way.add(ticket)
                most[0] = max(most[0], len(under_way))
            future: Future[Answer] = submit(text, timeout, overrides)
            future.add_done_callback(lambda _: under_way.discard(ticket))
            return future

        pool.submit = counting  # type: ignore[method-assign]
        return pool

    here, there, far = FakePool(jobs, 1), There(jobs, 2), There(jobs, 3)
    refused: list[tuple[str, str]] = []
    scheduler = Scheduler(
        counted(here),
        is_bug,
        contrast=[
            InterpreterTest(counted(pool), lambda answer: answer.outcome == "passes", name)
            for name, pool in (("there", there), ("far", far))
        ],
        listener=SearchListener(on_refused=lambda name, text, answer: refused.append((name, text))),
    )
    assert (
        scheduler.find_first(["a", "b bug", "c bug", "d", "e new bug", "f bug", "g new bug"]) == 4
    )
    assert refused == [("there", "b bug"), ("there", "c bug")]
    assert "e new bug" in far.submitted and "b bug" not in far.submitted
    assert most[0] <= jobs


def test_the_time_limit_is_of_the_schedulers_own_clock() -> None:
    """The pool's answer is a minute away; each look at the clock is ten seconds after the one
    before.
    """
    hours = itertools.count(step=10)
    late = Scheduler(
        FakePool(1, pause=60.0),
        is_bug,
        settings=SearchSettings(max_seconds=5, clock=lambda: next(hours)),
    )
    assert late.find_first(["a bug"]) is None
    assert late.exhausted
    standing = Scheduler(
        FakePool(1), is_bug, settings=SearchSettings(max_seconds=5, clock=lambda: 7.0)
    )
    assert standing.find_first(["a", "b bug"]) == 1
    assert not standing.exhausted and standing.counts.seconds == 0


def test_a_second_limit_is_reached_when_it_is_over_and_not_before() -> None:
    now = [100.0]
    scheduler = Scheduler(
        FakePool(1), is_bug, settings=SearchSettings(max_seconds=5, clock=lambda: now[0])
    )
    now[0] = 104.9
    assert scheduler.find_first(["a bug"]) == 0
    now[0] = 105.0
    assert scheduler.find_first(["b bug"]) is None
    assert scheduler.exhausted and scheduler.counts.seconds == 5


def test_journal_saves_a_resumed_run_every_candidate_it_knew(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    texts = ["a", "other", "b", "c bug"]
    with Journal(path, "torch 2") as journal:
        assert Scheduler(FakePool(2), is_bug, journal).find_first(texts) == 3
    with path.open("ab") as file:
        file.write(b'{"key": "torn')
    pool, others = FakePool(2), []
    with Journal(path, "torch 2") as journal:
        scheduler = Scheduler(
            pool,
            is_bug,
            journal,
            listener=SearchListener(on_other=lambda text, _: others.append(text)),
        )
        assert scheduler.find_first([*texts[:3], "new", "c bug"]) == 4
    assert pool.submitted == ["new"]
    assert others == ["other"]
    assert scheduler.counts.settled == 5
    lines = path.read_bytes().splitlines()
    assert len([json.loads(line) for line in lines]) == 6
    with Journal(path, "torch 3") as journal:
        assert len(journal) == 0


def test_what_a_limit_ended_is_asked_again_by_a_resumed_run(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    texts = ["a", "slow", "huge", "bug"]
    with Journal(path) as journal:
        assert Scheduler(FakePool(2), is_bug, journal).find_first(texts) == 3
    pool = FakePool(2)
    with Journal(path) as journal:
        assert Scheduler(pool, is_bug, journal).find_first(texts) == 3
    assert sorted(pool.submitted) == ["huge", "slow"]
    with Journal(path) as journal:  # the same where a hang is looked for
        hangs = Scheduler(FakePool(2), lambda answer: answer.outcome == "timeout", journal)
        assert hangs.find_first(["slow"]) == 0
    assert b"timeout" in path.read_bytes()


def test_journal_belongs_to_one_run(tmp_path: Path) -> None:
    with Journal(tmp_path / "j"), pytest.raises(UsageError, match="another run"):
        Journal(tmp_path / "j")


def test_journal_is_on_disk_before_the_next_question(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path) as journal:
        scheduler = Scheduler(FakePool(1), is_bug, journal)
        scheduler.find_first(["a"])
        assert len(path.read_bytes().splitlines()) == 2
