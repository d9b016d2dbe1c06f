"""The sixth stage of `create`: what the report says beside the repro, all of it measured on the
final text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from anonymizer.graph.repro import DERIVATIVES, ReproAssertion
from anonymizer.harness.text import render_harness
from reporter.core.candidate import Candidate, make_matcher
from reporter.core.formatting import count_lines, format_program
from reporter.core.kinds import Compiler, Kind, Layer
from reporter.core.operators import list_operators
from reporter.diagnose.details.culprit import SearchBudget, SuspectedBug, find_with_workaround
from reporter.diagnose.details.experiment import make_pool_experiment
from reporter.diagnose.details.switches import SWITCHES as LAYERS
from reporter.diagnose.details.workaround import try_on_call
from reporter.diagnose.explanation import write_public_summary
from reporter.pipeline.budget import Budget
from reporter.pipeline.optional_measurements import OptionalMeasurements
from reporter.pipeline.repro_measurements import FinishedRepro, measure
from reporter.pipeline.run import FRESH_PROCESSES
from reporter.pipeline.verify import VerifiedRepro, compute_process_limit
from reporter.publish.result import BuiltRepro, Measurements, ReproDetails, SearchResult
from reporter.reduce import source_candidates
from reporter.reduce.other_failures import OtherFailure
from reporter.reduce.workers import WorkerSet
from reporter.report.sections.details import CulpritSection
from reporter.report.sections.measurements import RungRow
from reporter.verify.ablation import find_lower_layer, run_ablation
from reporter.verify.neighbours import NeighbourResult, find_neighbours
from reporter.verify.numbers import list_needed_numbers
from templates.regression import ReproducedFailure

#: Seconds for the search of the culprit on the reduced repro, and for the workaround on the
#: recorded call.
CULPRIT_BUDGET = 60.0
#: For the programs next to the repro: a share of the seconds that the rest took, at least and at
#: most so many.
_SHARE_OF_NEIGHBOURS = 0.2
_LEAST_FOR_NEIGHBOURS, _MOST_FOR_NEIGHBOURS = 10.0, 30.0


class Measurement:
    """Everything that is measured on a verified repro.

    `captured` is the call with the layer that the repro was found to fail in.
    """

    def __init__(
        self,
        verified: VerifiedRepro,
        workers: WorkerSet,
        budget: Budget,
        say: Callable[[str], None],
    ) -> None:
        captured = verified.captured
        assert captured.verdict.signature is not None
        self.verified = verified
        self.captured = captured
        self.wanted = captured.verdict.signature
        self.workers = workers
        self.pool = workers.pool
        self.budget = budget
        self.say = say

    def measure(self, extras: OptionalMeasurements) -> BuiltRepro:
        """The repro with its ablation, culprit, neighbours, regression test and pictures.

        What `extras` leaves out, as there is no time for it, is empty.
        """
        verified = self.verified
        assertion = verified.reduced.candidate.assertion
        # the harness judges each row with float64, which a plain comparison does not
        harness = verified.program.harness
        rows = self._ablate(extras, harness, assertion)
        lower = (
            find_lower_layer(rows, self.wanted) if assertion.compiler == Compiler.COMPILE else None
        )
        if lower is not None:
            self._move_to(lower)
        summary = write_public_summary(self.captured, verified.cold.answers, assertion.compiler)
        # each of them waits for its own last answer most of the time, so they go on side by side
        extras.enter_stage("details", "culprit, neighbours, regression test and pictures")
        culprit = extras.begin("culprit", lambda: self._find_culprit(harness, assertion), None)
        near = self._begin_neighbours(extras)
        shown = extras.begin(
            "test and pictures", lambda: self._measure_test_and_pictures(summary), None
        )
        details = ReproDetails(
            rows, culprit(), near(), shown(), self._find_eager_error(), verified.differs_from
        )
        return BuiltRepro(
            candidate=verified.reduced.candidate,
            program=verified.program,
            cold=verified.cold,
            search=self._summarize_search(self._confirm_others(extras)),
            details=details,
            summary=summary,
        )

    def _ablate(
        self, extras: OptionalMeasurements, harness: str, assertion: ReproAssertion
    ) -> tuple[RungRow, ...]:
        """The repro under other backends, modes and settings."""
        nothing: tuple[RungRow, ...] = ()
        return extras.measure(
            "ablation",
            f"seen in {self.verified.cold.hits} of {FRESH_PROCESSES}",
            lambda: tuple(run_ablation(self.pool, harness, assertion, self.wanted)),
            nothing,
        )

    def _begin_neighbours(
        self, extras: OptionalMeasurements
    ) -> Callable[[], tuple[NeighbourResult, ...]]:
        """Waits for the programs next to the repro: other dtypes, sizes, layouts and operators."""
        nothing: tuple[NeighbourResult, ...] = ()
        if not self._has_neighbours():
            return lambda: nothing
        shows, repro = make_matcher(self.wanted), self.verified.program
        return extras.begin(
            "neighbours",
            lambda: tuple(find_neighbours(self.pool, shows, repro, self._limit_neighbours())),
            nothing,
        )

    def _confirm_others(self, extras: OptionalMeasurements) -> tuple[OtherFailure, ...]:
        """The failures of other sorts that fresh processes show, each as a formatted program."""
        found = self.verified.reduced.search.others
        nothing: tuple[OtherFailure, ...] = ()
        if not found.list_all():
            return nothing
        python, limit = Path(self.captured.surroundings.python), 4 * self.pool.time_limit
        others = extras.measure(
            "other findings",
            "fresh processes",
            lambda: found.confirm(python, limit, self.workers.warm),
            nothing,
        )
        return tuple(replace(other, text=format_program(other.text)) for other in others)

    def _summarize_search(self, others: tuple[OtherFailure, ...]) -> SearchResult:
        reduced, program = self.verified.reduced, self.verified.program
        search = reduced.search
        operations, lines = _count_size(reduced.candidate, program.text)
        left = operations if program.operations is None else program.operations
        final = (search.counts.settled, left, lines)
        return SearchResult(
            search.counts,
            (*search.history, final),
            others,
            search.others.list_all(),
            reduced.different,
            list_needed_numbers(program.text, self.verified.needed),
        )

    def _move_to(self, layer: Layer) -> None:
        """What is filed is the repro, so its layer is the one that the repro fails in."""
        self.wanted = replace(self.wanted, layer=layer)
        verdict = replace(self.captured.verdict, layer=layer, signature=self.wanted)
        self.captured = replace(self.captured, verdict=verdict)

    def _measure_test_and_pictures(self, summary: str) -> Measurements:
        """The regression test, verified, and the numbers of the pictures, all from the final
        program.
        """
        program = self.verified.program
        seconds = max(answer.seconds for answer in self.verified.cold.answers)
        failure = ReproducedFailure(
            str(self.wanted.kind),
            str(self.captured.verdict.layer),
            summary,
            list_operators(program.harness),
        )
        subject = FinishedRepro(program, failure, self.workers, make_matcher(self.wanted))
        limit = compute_process_limit(self.captured, self.workers, self.budget)
        return measure(subject, limit, seconds, self.workers.options.jobs)

    def _has_neighbours(self) -> bool:
        """Whether other programs are tried; of what hangs each would take the whole limit, and
        finite differences mean nothing in other dtypes.
        """
        if self.verified.reduced.candidate.assertion.backward in DERIVATIVES:
            return False
        is_hang = self.captured.verdict.kind == Kind.HANG
        is_whole = self.captured.material.whole is not None
        return not (is_whole or is_hang or self.verified.reduced.own_backend)

    def _find_eager_error(self) -> str | None:
        """What eager mode says of a program that it rejects: class and first line."""
        body, assertion = self.verified.program.parts
        if assertion.kind != Kind.ACCEPTS_INVALID and not assertion.eager_raises:
            return None
        plain = replace(assertion, kind=Kind.CRASH, compiler=Compiler.EAGER, eager_raises=False)
        failure = self.pool.submit(render_harness(body, plain)).result().failure
        return f"{failure['exception']}: {failure['first_line']}" if failure else None

    def _limit_neighbours(self) -> float:
        """Seconds for the programs next to the repro."""
        share = _SHARE_OF_NEIGHBOURS * self.budget.elapsed
        return self.budget.limit(max(_LEAST_FOR_NEIGHBOURS, min(_MOST_FOR_NEIGHBOURS, share)))

    def _find_culprit(self, text: str, assertion: ReproAssertion) -> CulpritSection | None:
        """The pass or operator at fault and the settings that avoid it, measured on the repro
        itself.
        """
        layer = self.wanted.layer
        if layer is None or layer not in LAYERS or assertion.compiler != Compiler.COMPILE:
            return None
        mode = dict(assertion.arguments).get("mode", "").strip("'\"") or None
        found, workaround = find_with_workaround(
            make_pool_experiment(self.pool, text, self.wanted, self.captured.verdict.failure),
            SuspectedBug(layer, self.wanted.kind, self.captured.device, mode),
            SearchBudget(self.budget.limit(CULPRIT_BUDGET), self.workers.options.jobs),
            self.say,
        )
        diagnosis = self.verified.reduced.origin.diagnosis
        if workaround is None or diagnosis is None:
            return found
        self.say("culprit: the workaround on the recorded call")
        limit = self.budget.limit(min(CULPRIT_BUDGET, self.workers.options.timeout))
        return try_on_call(found, workaround, diagnosis, limit)


def _count_size(candidate: Candidate, text: str) -> tuple[int, int]:
    return source_candidates.count_statements(candidate), count_lines(text)
