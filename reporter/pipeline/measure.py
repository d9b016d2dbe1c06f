"""The sixth stage of `create`: what the report says beside the repro, all of it measured on the
final text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from anonymizer.harness.text import render_harness
from reporter.core.candidate import Candidate, make_matcher
from reporter.core.formatting import count_lines, format_program
from reporter.core.kinds import Compiler, Kind
from reporter.core.operation_names import list_operators
from reporter.diagnose.explanation import write_public_summary
from reporter.pipeline.budget import Budget
from reporter.pipeline.optional_measurements import OptionalMeasurements
from reporter.pipeline.run import FRESH_PROCESSES
from reporter.pipeline.test_and_pictures import FinishedRepro, measure_test_and_pictures
from reporter.pipeline.text_measurements import (
    TextMeasurements,
    choose_layer,
)
from reporter.pipeline.verify import VerifiedRepro, compute_process_limit
from reporter.publish.result import BuiltRepro, PicturesAndTest, ReproDetails, SearchResult
from reporter.reduce import source_candidates
from reporter.reduce.other_failures import OtherFailure
from reporter.reduce.workers import WorkerSet
from reporter.verify.numbers import list_needed_numbers
from templates.regression import ReproducedFailure


class Measurement:
    """Everything that is measured on a verified repro."""

    def __init__(
        self,
        verified: VerifiedRepro,
        workers: WorkerSet,
        budget: Budget,
        say: Callable[[str], None],
    ) -> None:
        self.verified = verified
        self.workers = workers
        self.pool = workers.pool
        self.budget = budget
        self.say = say

    def measure(self, extras: OptionalMeasurements) -> tuple[VerifiedRepro, BuiltRepro]:
        """The repro with its ablation, culprit, neighbours, regression test and pictures.

        What `extras` leaves out, as there is no time for it, is empty.

        Returns:
            The verified repro, with the layer that it was found to fail in, and what was measured.
        """
        verified = self.verified
        assertion = verified.reduced.candidate.assertion
        if extras.may_begin():
            extras.enter_stage("ablation", f"seen in {verified.cold.hits} of {FRESH_PROCESSES}")
        texts = TextMeasurements(
            verified.reduced, verified.program, self.workers, self.budget, self.say
        )
        begun = verified.begun or texts.begin(extras)
        rows = begun.rows()
        layer = choose_layer(rows, assertion, verified.signature)
        if layer is not None and layer != verified.signature.layer:
            verified = verified.with_layer(layer)
        summary = write_public_summary(verified.captured, verified.cold.answers, assertion.compiler)
        # each of them waits for its own last answer most of the time, so they go on side by side
        extras.enter_stage("details", "culprit, neighbours, regression test and pictures")
        shown = extras.begin(
            "test and pictures", lambda: self._measure_test_and_pictures(verified, summary), None
        )
        others = self._begin_others(extras)
        details = ReproDetails(
            rows,
            begun.culprit(),
            begun.neighbours(),
            shown.wait(),
            self._find_eager_error(),
            verified.differs_from,
        )
        built = BuiltRepro(
            candidate=verified.reduced.candidate,
            program=verified.program,
            cold=verified.cold,
            search=self._summarize_search(others()),
            details=details,
            summary=summary,
        )
        return verified, built

    def _begin_others(self, extras: OptionalMeasurements) -> Callable[[], tuple[OtherFailure, ...]]:
        """Waits for the failures of other sorts that fresh processes show, each as a formatted
        program.
        """
        found = self.verified.reduced.search.others
        nothing: tuple[OtherFailure, ...] = ()
        if not found.list_all():
            return lambda: nothing

        def confirm() -> tuple[OtherFailure, ...]:
            others = found.confirm(self.workers.fresh, self.pool.ample_limit)
            return tuple(replace(other, text=format_program(other.text)) for other in others)

        return extras.begin("other findings", confirm, nothing).wait

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

    def _measure_test_and_pictures(self, verified: VerifiedRepro, summary: str) -> PicturesAndTest:
        """The regression test, verified, and the numbers of the pictures, all from the final
        program.
        """
        program, signature = verified.program, verified.signature
        seconds = max(answer.seconds for answer in verified.cold.answers)
        failure = ReproducedFailure(
            str(signature.kind),
            str(verified.captured.verdict.layer),
            summary,
            list_operators(program.harness),
        )
        subject = FinishedRepro(program, failure, self.workers, make_matcher(signature))
        limit = compute_process_limit(verified.captured, self.workers, self.budget)
        return measure_test_and_pictures(subject, limit, seconds, self.workers.options.jobs)

    def _find_eager_error(self) -> str | None:
        """What eager mode says of a program that it rejects: class and first line."""
        body, assertion = self.verified.program.parts
        if assertion.kind != Kind.ACCEPTS_INVALID and not assertion.eager_raises:
            return None
        plain = replace(assertion, kind=Kind.CRASH, compiler=Compiler.EAGER, eager_raises=False)
        failure = self.pool.submit(render_harness(body, plain)).result().failure
        return f"{failure['exception']}: {failure['first_line']}" if failure else None


def _count_size(candidate: Candidate, text: str) -> tuple[int, int]:
    return source_candidates.count_statements(candidate), count_lines(text)
