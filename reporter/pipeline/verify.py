"""The fifth stage of `create`: the final text of a program, and what fresh processes show of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from anonymizer.harness.text import render_harness
from reporter.core.answer import Answer
from reporter.core.candidate import Candidate, make_matcher
from reporter.core.errors import CannotJudgeError
from reporter.core.formatting import format_program
from reporter.core.kinds import CandidateOutcome, Kind, Layer
from reporter.core.progress import Progress
from reporter.core.signature import Signature
from reporter.evidence.repro_evidence import TOOLS
from reporter.execution.control import needs_control
from reporter.pipeline.budget import Budget
from reporter.pipeline.reduce import SHORTEST_HANG, ReducedProgram
from reporter.pipeline.run import FRESH_PROCESSES
from reporter.pipeline.text_measurements import BegunMeasurements
from reporter.reduce.contrast import verify_contrasts
from reporter.reduce.workers import WorkerSet
from reporter.report.captured_call import CapturedCall
from reporter.report.sections.finished_repro import ContrastSection
from reporter.verify.fresh_answers import FreshAnswers
from reporter.verify.numbers import collect_private_numbers, substitute_generic_numbers
from reporter.verify.plain import PlainRepro, PlainSearch


@dataclass(frozen=True)
class VerifiedRepro:
    """The final text and what fresh processes showed of it: here (`cold`), and elsewhere."""

    reduced: ReducedProgram
    program: PlainRepro
    cold: FreshAnswers
    differs_from: tuple[ContrastSection, ...]
    #: Numbers of the private program without which the failure is not there.
    needed: frozenset[float]
    #: What is measured of this text beside the fresh processes.
    begun: BegunMeasurements | None = None

    @property
    def captured(self) -> CapturedCall:
        """What the program was made from."""
        return self.reduced.captured

    @property
    def signature(self) -> Signature:
        """The failure that was verified."""
        assert self.captured.verdict.signature is not None
        return self.captured.verdict.signature

    def with_layer(self, layer: Layer) -> VerifiedRepro:
        """The same, where the repro was found to fail in another layer: what is filed is the
        repro.
        """
        verdict = self.captured.verdict
        verdict = replace(verdict, layer=layer, signature=replace(self.signature, layer=layer))
        origin = replace(self.reduced.origin, call=replace(self.captured, verdict=verdict))
        return replace(self, reduced=replace(self.reduced, origin=origin))


@dataclass(frozen=True)
class VerificationSettings:
    """With `is_watched` torch's own tools watch one of the fresh processes; the numbers of a
    program that `is_public` may stay. `begin` begins to measure a plain text before the processes
    run it, where that takes little from them.
    """

    is_watched: bool
    is_public: bool
    begin: Callable[[ReducedProgram, PlainRepro], BegunMeasurements | None]


class Verification:
    """Holds the smallest candidate's text to fresh processes, here and in each interpreter that it
    must pass in.
    """

    def __init__(
        self,
        captured: CapturedCall,
        workers: WorkerSet,
        budget: Budget,
        progress: Progress,
        settings: VerificationSettings,
    ) -> None:
        assert captured.verdict.signature is not None
        self.captured = captured
        self.workers = workers
        self.budget = budget
        self.wanted = captured.verdict.signature
        self.progress = progress
        self.settings = settings
        self.pool = workers.pool
        self.fresh = workers.fresh
        self.contrasts = workers.contrasts
        self.as_whole = captured.material.whole is not None
        self.is_hang = captured.verdict.kind == Kind.HANG
        is_private = not self.as_whole and not settings.is_public
        self.private = collect_private_numbers(captured) if is_private else frozenset()

    def verify(self, reduced: ReducedProgram) -> VerifiedRepro:
        """The formatted text in fresh processes, here and in each interpreter it must pass in.

        Where warm workers alone show the smallest candidate, the smallest one that fresh processes
        show takes its place.

        Raises:
            CannotJudgeError: there is none.
        """
        verified = self._verify(reduced)
        if verified.cold.hits:
            return verified
        if all(answer.outcome == CandidateOutcome.TIMEOUT for answer in verified.cold.answers):
            raise CannotJudgeError(
                f"none of {FRESH_PROCESSES} fresh processes came to an end in time, so the reduced"
                " program is not reported; give them longer with --timeout"
            )
        self.progress.note(
            "the smallest program fails in warm workers alone: looking for the smallest one that"
            " fresh processes show"
        )
        earlier = reduced.search.accepted.find_last(self._is_shown_fresh)
        if earlier is not None:
            verified = self._verify(replace(reduced, candidate=earlier))
        if not verified.cold.hits:
            raise CannotJudgeError(
                f"the reduced program fails in warm workers but in none of {FRESH_PROCESSES} fresh"
                " processes, so it is not reported; the candidates are kept in the private folder"
            )
        return verified

    def _is_shown_fresh(self, candidate: Candidate) -> bool:
        text = format_program(candidate.render())
        limit = compute_process_limit(self.captured, self.workers, self.budget)
        if not make_matcher(self.wanted)(self.fresh.run_fresh(text, limit)):
            return False
        if not candidate.assertion.compares_sides():
            return True
        return self.fresh.run_control(text, limit).passed

    def _verify(self, reduced: ReducedProgram) -> VerifiedRepro:
        """One candidate in fresh processes; no hit where none of them shows the failure."""
        self.progress.begin_stage("plain form", "the statements that people write")
        program, needed = self._write_plainly(reduced.candidate)
        self.progress.begin_stage("verify", f"{FRESH_PROCESSES} fresh processes")
        begun = self.settings.begin(reduced, program) if program.form is not None else None
        program, cold = self._judge_texts(program, reduced.candidate.assertion.compares_sides())
        if begun is not None and (begun.program != program or not cold.hits):
            begun.stop()
            begun = None
        differs_from = self._verify_contrasts(program.text, cold)
        return VerifiedRepro(reduced, program, cold, differs_from, needed, begun)

    def _write_plainly(self, candidate: Candidate) -> tuple[PlainRepro, frozenset[float]]:
        """The candidate in the plainest form that workers show the failure of, without the private
        numbers and modes that it does without; and the private numbers that it needs.
        """
        parts = candidate.build_parts()
        needed: frozenset[float] = frozenset()
        shows = make_matcher(self.wanted)
        search = PlainSearch(self.pool, shows, self.contrasts, self.as_whole)
        if not self.contrasts:
            parts, needed = substitute_generic_numbers(parts, self.private, self.pool, shows)
            parts = parts if self.as_whole else search.restore_modes(parts)
        found = search.find(parts, candidate.draws)
        if found is not None:
            return found, needed
        harness = format_program(render_harness(*parts))
        return PlainRepro(harness, harness, parts), needed

    def _judge_texts(
        self, program: PlainRepro, compares_sides: bool
    ) -> tuple[PlainRepro, FreshAnswers]:
        """The text that fresh processes show best: the plain one, else the harness."""
        cold = self._judge_fresh(program.text) if program.form is not None else FreshAnswers((), 0)
        if cold.hits == FRESH_PROCESSES:
            return program, cold
        judged = self._judge_fresh(program.harness, compares_sides)
        if program.form is None or judged.hits > cold.hits:
            return replace(program, text=program.harness), judged
        return program, cold

    def _verify_contrasts(self, text: str, cold: FreshAnswers) -> tuple[ContrastSection, ...]:
        """What the other interpreters show of a text that fails here.

        A failure that comes and goes has to stay away there as often as it was looked for here.
        """
        if not cold.hits:
            return ()
        runs = 1 if cold.hits == FRESH_PROCESSES else FRESH_PROCESSES
        return verify_contrasts(self.contrasts, text, runs, self.workers.options.jobs)

    def _judge_fresh(self, text: str, is_compared: bool = False) -> FreshAnswers:
        """What fresh processes showed of a text; no hit where its control run does not pass.

        With `is_compared` also of one that says by itself where eager mode fails: state that both
        sides share can make eager differ from eager.
        """
        limit = compute_process_limit(self.captured, self.workers, self.budget)
        # what hangs is waited for, and that costs the same for three
        is_hang = self.is_hang
        jobs = FRESH_PROCESSES if is_hang else min(FRESH_PROCESSES, self.workers.options.jobs)
        with ThreadPoolExecutor(max_workers=jobs) as threads:
            really_cold = threads.submit(self.fresh.run_cold, text, limit)
            watched = None
            if self.settings.is_watched and not is_hang:
                watched = threads.submit(self._watch, text, limit)
            others = [
                threads.submit(self.fresh.run_fresh, text, limit)
                for _ in range(FRESH_PROCESSES - 1 - (watched is not None))
            ]
            control = None
            if is_compared or needs_control(text):
                control = threads.submit(self.fresh.run_control, text, limit)
            try:
                answers = [really_cold.result(), *(each.result() for each in others)]
                folder = None
                if watched is not None:
                    answer, folder = watched.result()
                    answers.insert(1, answer)
                passes = control is None or control.result().passed
            except KeyboardInterrupt:
                threads.shutdown(wait=False, cancel_futures=True)
                self.fresh.stop()  # else their end would be waited for
                raise
        shows = make_matcher(self.wanted)
        hits = sum(map(shows, answers)) if passes else 0
        return FreshAnswers(tuple(answers), hits, folder)

    def _watch(self, text: str, limit: float) -> tuple[Answer, Path | None]:
        """A fresh process with torch's own tools on, and the folder of what they found; an ordinary
        one where they change what comes of it.
        """
        # a new one each time: what the tools said of another text must not be taken for this one's
        folder = Path(tempfile.mkdtemp(prefix="watched-", dir=self.workers.folder))
        answer = self.fresh.run_watched(text, limit, TOOLS, folder)
        if not make_matcher(self.wanted)(answer):
            return self.fresh.run_fresh(text, limit), None
        return answer, folder if any(folder.iterdir()) else None


def compute_process_limit(captured: CapturedCall, workers: WorkerSet, budget: Budget) -> float:
    """Seconds for a fresh process with the final text.

    Args:
        captured: one that hangs takes all of them, so it gets what tells it from a slow one.
        workers: have --timeout, and a pool that knows how long a candidate takes.
        budget: cuts the limit of one that hangs.
    """
    pool = workers.pool
    ample = max(workers.options.timeout, pool.ample_limit)
    if captured.verdict.kind == Kind.HANG:
        return max(SHORTEST_HANG, budget.limit(min(ample, 3 * pool.time_limit)))
    return ample
