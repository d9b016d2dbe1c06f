"""The sixth stage of `create`: what the report says beside the repro, all of it measured on the
final text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from anonymizer.graph.repro import DERIVATIVES, ReproAssertion
from anonymizer.harness.text import render_harness
from reporter.core.candidate import Candidate, make_matcher
from reporter.core.formatting import count_lines, format_program
from reporter.core.kinds import Compiler, Kind, Layer
from reporter.core.operators import list_operators
from reporter.core.signature import Signature
from reporter.diagnose.details.culprit import SearchBudget, SuspectedBug, find_with_workaround
from reporter.diagnose.details.experiment import Variation, make_pool_experiment
from reporter.diagnose.details.switches import SWITCHES as LAYERS
from reporter.diagnose.details.workaround import try_on_call
from reporter.diagnose.explanation import write_public_summary
from reporter.pipeline.budget import Budget
from reporter.pipeline.optional_measurements import OptionalMeasurements
from reporter.pipeline.reduce import ReducedProgram
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
from reporter.verify.plain import PlainRepro
from templates.regression import ReproducedFailure

#: Seconds for the search of the culprit on the reduced repro, and for the workaround on the
#: recorded call.
CULPRIT_BUDGET = 60.0
#: For the programs next to the repro: a share of the seconds that the rest took, at least and at
#: most so many.
_SHARE_OF_NEIGHBOURS = 0.2
_LEAST_FOR_NEIGHBOURS, _MOST_FOR_NEIGHBOURS = 16.0, 30.0


#: The section about the culprit, and how a program is compiled without it.
_Culprit = tuple[CulpritSection | None, Variation | None]


@dataclass(frozen=True)
class BegunMeasurements:
    """What is measured of a `program` while fresh processes still run it; each part waits for its
    result. It stands if they show the failure of that program, and of no other.
    """

    program: PlainRepro
    rows: Callable[[], tuple[RungRow, ...]]
    culprit: Callable[[], _Culprit]
    neighbours: Callable[[], tuple[NeighbourResult, ...]]


@dataclass(frozen=True)
class TextMeasurements:
    """What needs no more of a repro than its text, asked in warm workers.

    `program` is the final text, if fresh processes show the failure of it; `say` gets what is being
    tried.
    """

    reduced: ReducedProgram
    program: PlainRepro
    workers: WorkerSet
    budget: Budget
    say: Callable[[str], None]

    def begin(self, extras: OptionalMeasurements) -> BegunMeasurements:
        """Begins all of them, side by side."""
        no_rows: tuple[RungRow, ...] = ()
        no_neighbours: tuple[NeighbourResult, ...] = ()
        no_culprit: _Culprit = (None, None)
        rows = extras.begin("ablation", self._ablate, no_rows)
        # not without the ablation, which says where the repro fails
        culprit = extras.begin("culprit", lambda: self._find_culprit(rows()), no_culprit)
        near = extras.begin("neighbours", self._find_neighbours, no_neighbours)
        return BegunMeasurements(self.program, rows, culprit, near)

    @property
    def _wanted(self) -> Signature:
        wanted = self.reduced.captured.verdict.signature
        assert wanted is not None
        return wanted

    def _ablate(self) -> tuple[RungRow, ...]:
        """The repro under other backends, modes and settings."""
        assertion = self.reduced.candidate.assertion
        # the harness judges each row with float64, which a plain comparison does not
        return tuple(run_ablation(self.workers.pool, self.program.harness, assertion, self._wanted))

    def _find_culprit(self, rows: Sequence[RungRow]) -> _Culprit:
        """The pass or operator at fault and the settings that avoid it."""
        verdict, assertion = self.reduced.captured.verdict, self.reduced.candidate.assertion
        wanted = replace(self._wanted, layer=_find_layer(rows, assertion, self._wanted))
        layer = wanted.layer
        if layer is None or layer not in LAYERS or assertion.compiler != Compiler.COMPILE:
            return None, None
        mode = dict(assertion.arguments).get("mode", "").strip("'\"") or None
        return find_with_workaround(
            make_pool_experiment(self.workers.pool, self.program.harness, wanted, verdict.failure),
            SuspectedBug(layer, wanted.kind, self.reduced.captured.device, mode),
            SearchBudget(self.budget.limit(CULPRIT_BUDGET), self.workers.options.jobs),
            self.say,
        )

    def _find_neighbours(self) -> tuple[NeighbourResult, ...]:
        """The programs next to the repro: other dtypes, sizes, layouts and operators."""
        if not self._has_neighbours():
            return ()
        shows, pool = make_matcher(self._wanted), self.workers.pool
        return tuple(find_neighbours(pool, shows, self.program, self._limit_neighbours()))

    def _has_neighbours(self) -> bool:
        """Whether other programs are tried; of what hangs each would take the whole limit, and
        finite differences mean nothing in other dtypes.
        """
        reduced = self.reduced
        if reduced.candidate.assertion.backward in DERIVATIVES or reduced.own_backend:
            return False
        is_whole = reduced.captured.material.whole is not None
        return not is_whole and reduced.captured.verdict.kind != Kind.HANG

    def _limit_neighbours(self) -> float:
        """Seconds for the programs next to the repro."""
        share = _SHARE_OF_NEIGHBOURS * self.budget.elapsed
        return self.budget.limit(max(_LEAST_FOR_NEIGHBOURS, min(_MOST_FOR_NEIGHBOURS, share)))


def _find_layer(
    rows: Sequence[RungRow], assertion: ReproAssertion, wanted: Signature
) -> Layer | None:
    """The layer that the repro fails in, by its ablation."""
    is_compiled = assertion.compiler == Compiler.COMPILE
    lower = find_lower_layer(rows, wanted) if is_compiled else None
    return lower if lower is not None else wanted.layer


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

    def measure(
        self, extras: OptionalMeasurements, begun: BegunMeasurements | None = None
    ) -> BuiltRepro:
        """The repro with its ablation, culprit, neighbours, regression test and pictures.

        What `extras` leaves out, as there is no time for it, is empty. What has `begun` counts if
        it is of the verified program.
        """
        verified = self.verified
        assertion = verified.reduced.candidate.assertion
        extras.enter_stage("ablation", f"seen in {verified.cold.hits} of {FRESH_PROCESSES}")
        if begun is None or begun.program != verified.program:
            begun = TextMeasurements(
                verified.reduced, verified.program, self.workers, self.budget, self.say
            ).begin(extras)
        rows = begun.rows()
        layer = _find_layer(rows, assertion, self.wanted)
        if layer is not None and layer != self.wanted.layer:
            self._move_to(layer)
        summary = write_public_summary(self.captured, verified.cold.answers, assertion.compiler)
        # each of them waits for its own last answer most of the time, so they go on side by side
        extras.enter_stage("details", "culprit, neighbours, regression test and pictures")
        shown = extras.begin(
            "test and pictures", lambda: self._measure_test_and_pictures(summary), None
        )
        others = self._begin_others(extras)
        found, workaround = begun.culprit()
        on_call = extras.begin("culprit", lambda: self._try_on_call(found, workaround), found)
        details = ReproDetails(
            rows,
            on_call(),
            begun.neighbours(),
            shown(),
            self._find_eager_error(),
            verified.differs_from,
        )
        return BuiltRepro(
            candidate=verified.reduced.candidate,
            program=verified.program,
            cold=verified.cold,
            search=self._summarize_search(others()),
            details=details,
            summary=summary,
        )

    def _begin_others(self, extras: OptionalMeasurements) -> Callable[[], tuple[OtherFailure, ...]]:
        """Waits for the failures of other sorts that fresh processes show, each as a formatted
        program.
        """
        found = self.verified.reduced.search.others
        nothing: tuple[OtherFailure, ...] = ()
        if not found.list_all():
            return lambda: nothing

        def confirm() -> tuple[OtherFailure, ...]:
            others = found.confirm(self.workers.fresh, 4 * self.pool.time_limit)
            return tuple(replace(other, text=format_program(other.text)) for other in others)

        return extras.begin("other findings", confirm, nothing)

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

    def _find_eager_error(self) -> str | None:
        """What eager mode says of a program that it rejects: class and first line."""
        body, assertion = self.verified.program.parts
        if assertion.kind != Kind.ACCEPTS_INVALID and not assertion.eager_raises:
            return None
        plain = replace(assertion, kind=Kind.CRASH, compiler=Compiler.EAGER, eager_raises=False)
        failure = self.pool.submit(render_harness(body, plain)).result().failure
        return f"{failure['exception']}: {failure['first_line']}" if failure else None

    def _try_on_call(
        self, found: CulpritSection | None, workaround: Variation | None
    ) -> CulpritSection | None:
        """The culprit with what its workaround does to the recorded call."""
        diagnosis = self.verified.reduced.origin.diagnosis
        if found is None or workaround is None or diagnosis is None:
            return found
        self.say("culprit: the workaround on the recorded call")
        limit = self.budget.limit(min(CULPRIT_BUDGET, self.workers.options.timeout))
        return try_on_call(found, workaround, diagnosis, limit)


def _count_size(candidate: Candidate, text: str) -> tuple[int, int]:
    return source_candidates.count_statements(candidate), count_lines(text)
