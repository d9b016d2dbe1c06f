"""Other interpreters in which the repro must pass: "fails here, passes there" is part of what every
candidate shows.

Only candidates run there, never the user's script, which may need what that environment lacks.
Nothing but a pass counts as one: a candidate that cannot be judged there (exit 125) tells nothing
about the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from reporter.core.answer import Answer
from reporter.core.errors import CannotJudgeError
from reporter.core.kinds import CandidateOutcome
from reporter.execution.fresh_runs import FreshRuns
from reporter.execution.interpreter import InterpreterInfo
from reporter.execution.worker_pool import WorkerPool
from reporter.reduce.scheduler import InterpreterTest
from reporter.report.sections.finished_repro import ContrastSection


@dataclass(frozen=True)
class ContrastInterpreter:
    """An interpreter of --differs-from with its workers and its compiler cache."""

    info: InterpreterInfo
    pool: WorkerPool
    warm_cache: Path

    @property
    def name(self) -> str:
        """Which interpreter it is, for the journal."""
        return f"{self.info.path} torch {self.info.torch}"

    @property
    def test(self) -> InterpreterTest:
        """Its say about candidates that fail here."""
        return InterpreterTest(self.pool, lambda answer: answer.passed, self.name)

    def run_cold(self, text: str, runs: int, threads: int) -> tuple[Answer, ...]:
        """What fresh processes there do with a repro, each with at least five minutes.

        Args:
            text: the complete repro.
            runs: how many processes, at least one.
            threads: how many of them at a time, at most.
        """
        limit = max(300.0, self.pool.ample_limit)
        with ThreadPoolExecutor(max_workers=min(runs, threads)) as workers:
            started = [
                workers.submit(FreshRuns(self.info.path, self.warm_cache).run_cold, text, limit)
                for _ in range(runs)
            ]
            return tuple(run.result() for run in started)


class Refusals:
    """What candidates that fail here did elsewhere, for the sentence that is due where none has
    passed.
    """

    def __init__(
        self, contrasts: Sequence[ContrastInterpreter], shows: Callable[[Answer], bool]
    ) -> None:
        self._places = contrasts
        self._shows = shows
        self._by_name: dict[str, list[Answer]] = {}

    def add(self, name: str, text: str, answer: Answer) -> None:
        """A settled candidate failed here and did not pass in another interpreter.

        Args:
            name: the `name` of that `ContrastInterpreter`.
            text: the candidate, of which nothing is kept.
            answer: what it did there.
        """
        self._by_name.setdefault(name, []).append(answer)

    def explain(self) -> str | None:
        """Why nothing differs: the first interpreter that refused and the strongest thing seen
        there; None without one.
        """
        for contrast in self._places:
            answers = self._by_name.get(contrast.name)
            if answers:
                return (
                    f"every program that fails here {self._describe(answers, contrast.info.torch)}"
                    f" ({contrast.info.path}), so there is no difference to report; leave out"
                    " --differs-from to report the failure itself"
                )
        return None

    def _describe(self, answers: Sequence[Answer], torch: str) -> str:
        """The same failure beats another one, which beats not knowing."""
        failures = [answer for answer in answers if answer.failed]
        if not failures:
            return f"cannot be judged under torch {torch}: {_describe_failure(answers[0])}"
        told = next((answer for answer in failures if self._shows(answer)), failures[0])
        return f"fails under torch {torch} too: {_describe_failure(told)}"


def _describe_failure(answer: Answer) -> str:
    """The failure in a few words."""
    if answer.failure:
        return answer.format_error(120)
    if answer.signal:
        return answer.signal
    if answer.outcome == CandidateOutcome.TIMEOUT:
        return "no end in time"
    return (answer.stdout.strip().splitlines() or ["exit code 125"])[-1][:120]


def verify_contrasts(
    contrasts: Sequence[ContrastInterpreter], text: str, runs: int, threads: int
) -> tuple[ContrastSection, ...]:
    """The rows of `differs_from`, each from fresh processes.

    Args:
        contrasts: the interpreters of --differs-from.
        text: the final repro.
        runs: processes in each of them, all of which have to pass.
        threads: how many of these at a time.

    Raises:
        CannotJudgeError: one of them does not pass.
    """
    rows = []
    for contrast in contrasts:
        bad = next((a for a in contrast.run_cold(text, runs, threads) if not a.passed), None)
        if bad is not None:
            raise CannotJudgeError(
                f"the reduced program passes in warm workers of torch {contrast.info.torch}"
                f" ({contrast.info.path}) but not in a fresh process ({_describe_failure(bad)}), so"
                " it is not reported"
            )
        rows.append(
            ContrastSection(
                torch=contrast.info.torch, python=contrast.info.version, outcome="passes"
            )
        )
    return tuple(rows)
