"""Keeps all workers busy, yet decides as if there were one: answers count in the order of the
questions.

Candidates run ahead of time and side by side, but a candidate is *settled* only when all before it
are, so the chosen one, the other failures handed on, and the candidates charged to the budget are
the same for any number of jobs.  Answers are remembered by content, in memory and in the journal;
judging them is cheap and done again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import queue
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from collectors.protocol.variation import Overrides
from reporter.core.answer import Answer
from reporter.core.kinds import CandidateOutcome
from reporter.execution.journal import Journal

Judge = Callable[[Answer], bool]
#: How many rounds of candidates may run ahead of the slowest one that still counts.
_DEPTH = 4


class Pool(Protocol):
    """What the scheduler needs of `WorkerPool`."""

    jobs: int

    def submit(self, text: str, *, overrides: Overrides | None = None) -> Future[Answer]:
        """Run a candidate; cancelling the future stops it."""
        ...


@dataclass(frozen=True)
class InterpreterTest:
    """One interpreter's say: a candidate is interesting if every test's judge agrees with its
    pool's answer.

    `name` tells the answers of different interpreters apart in the journal.
    """

    pool: Pool
    judge: Judge
    name: str = ""


@dataclass(frozen=True)
class Counts:
    """Progress: `settled` candidates were needed, `seconds` have passed."""

    settled: int
    seconds: float


@dataclass(frozen=True)
class _Trial:
    text: str
    overrides: Overrides
    keys: tuple[str, ...]


@dataclass(frozen=True)
class SearchListener:
    """Who is told what of a search.

    `on_other` gets each settled candidate that fails in another way, `on_refused` each one that
    is interesting to the first test and not to a further one, after the name of that one.
    """

    progress: Callable[[Counts], None] | None = None
    on_other: Callable[[str, Answer], None] | None = None
    on_refused: Callable[[str, str, Answer], None] | None = None


@dataclass(frozen=True)
class SearchSettings:
    """A soft limit: once `max_seconds` have passed nothing further is interesting.

    `clock` says what time it is, in seconds.
    """

    max_seconds: float | None = None
    clock: Callable[[], float] = time.monotonic


class Scheduler:
    """Asks a pool about candidates; see `find_first` and `ask`.

    `contrast` holds further tests (`--differs-from`), asked only about candidates that are
    interesting to the first. All tests together run no more than `pool.jobs` candidates at a time.
    `exhausted` says whether the limit was reached, `out_of_memory` counts settled candidates that
    ran out of it. Raises whatever the pool's futures raise.
    """

    def __init__(
        self,
        pool: Pool,
        judge: Judge,
        journal: Journal | None = None,
        contrast: Sequence[InterpreterTest] = (),
        listener: SearchListener = SearchListener(),
        settings: SearchSettings = SearchSettings(),
    ) -> None:
        self.tests = (InterpreterTest(pool, judge), *contrast)
        self.exhausted = False
        self.out_of_memory = 0
        self._journal = journal
        self._listener = listener
        self._settings = settings
        self._started = settings.clock()
        self._memo: dict[str, Answer] = {}
        self._settled: set[str] = set()
        self._running: dict[str, Future[Answer]] = {}
        self._ended: queue.SimpleQueue[tuple[str, Future[Answer]]] = queue.SimpleQueue()

    @property
    def jobs(self) -> int:
        """How many candidates run side by side."""
        return self.tests[0].pool.jobs

    @property
    def counts(self) -> Counts:
        """Progress so far."""
        seconds = self._settings.clock() - self._started
        return Counts(len(self._settled), round(seconds, 3))

    def find_first(
        self, candidates: Iterable[str], overrides: Overrides | None = None
    ) -> int | None:
        """The index of the first interesting candidate; None if there is none or the limit is
        reached.

        Candidates are taken lazily, at most a few rounds ahead; what runs behind the first
        interesting one is killed.

        Args:
            candidates: complete texts.
            overrides: what their own `torch.compile` is given in place of its arguments.
        """
        trials = (self._build_trial(text, overrides) for text in candidates)
        with contextlib.closing(self._judge_in_order(trials)) as verdicts:
            return next((index for index, verdict in enumerate(verdicts) if verdict), None)

    def ask(
        self,
        text: str,
        hints: Iterable[str] = (),
        overrides: Overrides | None = None,
    ) -> bool:
        """Whether a candidate is interesting.

        Hints go on running after the answer; those that the next question does not repeat are
        killed then.

        Args:
            text: the complete text of the candidate.
            hints: texts that may be asked about next; they run meanwhile where a worker is idle.
            overrides: what their own `torch.compile` is given in place of its arguments.

        Returns:
            False where the limit is reached before the answer.
        """
        wanted = self._build_trial(text, overrides)
        ahead = [self._build_trial(hint, overrides) for hint in hints]
        self._keep({key for trial in (wanted, *ahead) for key in trial.keys})
        while self._judge_trial(wanted) is None:
            if self._is_over(wanted):
                return False
            for trial in (wanted, *ahead):
                if trial is wanted or len(self._running) < self.jobs:
                    self._launch(trial)
            self._wait()
        return self._settle(wanted)

    def find_answer(self, text: str, overrides: Overrides | None = None) -> Answer | None:
        """What the first test has answered about a candidate; nothing is run for it.

        Args:
            text: the complete text of the candidate.
            overrides: those that it was asked about with.

        Returns:
            None where it was not asked, or where its answer was not kept.
        """
        return self._look_up(self._build_trial(text, overrides).keys[0])

    def _judge_in_order(self, trials: Iterator[_Trial]) -> Generator[bool, None, None]:
        """Verdicts in order, up to the first interesting candidate, with as many in flight as there
        are workers.
        """
        window: deque[_Trial] = deque()
        self._keep(set())
        try:
            while True:
                while window and self._judge_trial(window[0]) is not None:
                    if self._is_over(window[0]):
                        return
                    yield self._settle(window.popleft())
                self._fill(window, trials)
                if not window:
                    return
                if self._judge_trial(window[0]) is not None:
                    continue  # by an earlier answer to the same text
                if self._is_over(window[0]):
                    return
                for trial in window:
                    self._launch(trial)
                self._wait()
        finally:
            self._keep(set())

    def _fill(self, window: deque[_Trial], trials: Iterator[_Trial]) -> None:
        """Adds candidates until each worker has one to answer, the window is full, or one of them
        is interesting: none behind that one can be the first.
        """
        if self._cut_behind_winner(window):
            return
        while self._count_unknown(window) < self.jobs and len(window) < _DEPTH * self.jobs:
            trial = next(trials, None)
            if trial is None:
                return
            window.append(trial)
            if self._judge_trial(trial):
                return

    def _cut_behind_winner(self, window: deque[_Trial]) -> bool:
        """Drop and kill what can no longer be the first interesting candidate; whether there is
        one.
        """
        for place, trial in enumerate(window):
            if self._judge_trial(trial):
                while len(window) > place + 1:
                    window.pop()
                self._keep({key for kept in window for key in kept.keys})
                return True
        return False

    def _count_unknown(self, window: Iterable[_Trial]) -> int:
        """How many different candidates have not been answered."""
        return len({trial.keys for trial in window if self._judge_trial(trial) is None})

    def _build_trial(self, text: str, overrides: Overrides | None) -> _Trial:
        chosen: Overrides = overrides or {}
        content = json.dumps(chosen, sort_keys=True) + "\0" + text
        keys = tuple(
            hashlib.sha256(f"{test.name}\0{content}".encode()).hexdigest() for test in self.tests
        )
        return _Trial(text, chosen, keys)

    def _look_up(self, key: str) -> Answer | None:
        if key not in self._memo and self._journal is not None:
            entry = self._journal.get(key)
            if entry is not None:
                self._memo[key] = Answer.from_json(entry)
        return self._memo.get(key)

    def _judge_trial(self, trial: _Trial) -> bool | None:
        """Whether the candidate is interesting; None while a test has still to be asked."""
        for test, key in zip(self.tests, trial.keys, strict=True):
            answer = self._look_up(key)
            if answer is None:
                return None
            if not test.judge(answer):
                return False
        return True

    def _launch(self, trial: _Trial) -> None:
        """Start the first test that has not answered, unless it runs already."""
        for test, key in zip(self.tests, trial.keys, strict=True):
            if key in self._running:
                return
            answer = self._look_up(key)
            if answer is None:
                future = test.pool.submit(trial.text, overrides=trial.overrides)
                self._running[key] = future
                future.add_done_callback(functools.partial(self._note_end, key))
                return
            if not test.judge(answer):
                return

    def _note_end(self, key: str, future: Future[Answer]) -> None:
        self._ended.put((key, future))

    def _wait(self) -> None:
        """Wait for at least one end (or the time limit) and remember everything that has ended."""
        left = None
        if self._settings.max_seconds is not None:
            left = max(0.0, self._started + self._settings.max_seconds - self._settings.clock())
        try:
            ended = [self._ended.get(timeout=left)]
        except queue.Empty:
            return
        while not self._ended.empty():
            ended.append(self._ended.get())
        for key, future in ended:
            if self._running.get(key) is future:
                del self._running[key]
            if not future.cancelled():
                self._remember(key, future.result())
        if self._journal is not None:
            self._journal.flush()

    def _remember(self, key: str, answer: Answer) -> None:
        self._memo[key] = answer
        # what a limit has made comes out otherwise when the run goes on with a higher one; of a
        # hang it is what is looked for
        is_cut_short = answer.outcome == CandidateOutcome.TIMEOUT or answer.out_of_memory
        if self._journal is not None and (self.tests[0].judge(answer) or not is_cut_short):
            self._journal.put(key, answer.to_json())

    def _settle(self, trial: _Trial) -> bool:
        """The candidate counts now: charge it, hand it on if it fails in another way."""
        verdict = self._judge_trial(trial)
        assert verdict is not None
        if trial.keys[0] not in self._settled:
            self._settled.add(trial.keys[0])
            answer = self._memo[trial.keys[0]]
            self.out_of_memory += answer.out_of_memory
            interesting = self.tests[0].judge(answer)
            if self._listener.on_other is not None and answer.failed and not interesting:
                self._listener.on_other(trial.text, answer)
            if self._listener.on_refused is not None and interesting and not verdict:
                self._listener.on_refused(*self._find_refusal(trial))
            if self._listener.progress is not None:
                self._listener.progress(self.counts)
        return verdict

    def _find_refusal(self, trial: _Trial) -> tuple[str, str, Answer]:
        """The first test that does not like the candidate, with the candidate and its answer."""
        for test, key in zip(self.tests, trial.keys, strict=True):
            if not test.judge(self._memo[key]):
                return test.name, trial.text, self._memo[key]
        raise AssertionError("the candidate is interesting to every test")

    def _is_over(self, trial: _Trial) -> bool:
        """Whether the limit forbids one more new candidate."""
        if trial.keys[0] in self._settled:
            return False
        limit = self._settings.max_seconds
        if limit is not None and self.counts.seconds >= limit:
            self.exhausted = True
        return self.exhausted

    def _keep(self, keys: set[str]) -> None:
        """Kill what runs for any other key."""
        for key in [key for key in self._running if key not in keys]:
            self._running.pop(key).cancel()
