"""The second half of a run: from a recording to a reduced, verified repro, by nothing but complete
candidate texts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from anonymizer.graph.boilerplate import (
    COMPILE,
    ReproCheck,
)
from reporter.core.candidate import Candidate, matcher
from reporter.core.formatting import format_program
from reporter.core.kinds import Kind
from reporter.core.operators import operators
from reporter.diagnose.details.culprit import SearchBudget, SuspectedBug, find
from reporter.diagnose.details.experiment import pool_experiment
from reporter.diagnose.details.switches import SWITCHES as LAYERS
from reporter.diagnose.explain import public_summary
from reporter.execution.journal import Journal
from reporter.pipeline.extras import Extras
from reporter.pipeline.measurements import FinalText, measure
from reporter.pipeline.program_search import ProgramSearch, ReducedProgram
from reporter.pipeline.run import FRESH_PROCESSES, Run
from reporter.pipeline.verification import Verification, VerifiedRepro
from reporter.publish.result import BuiltRepro, Measurements
from reporter.reduce import source_candidates
from reporter.reduce.other_failures import Other
from reporter.reduce.workers import WorkerSet
from reporter.report.captured_call import CapturedCall
from reporter.report.sections import CulpritSection, RungRow
from reporter.verify.ablation import ablation
from reporter.verify.neighbours import NeighbourResult, find_neighbours
from reporter.verify.numbers import numbers_left

#: Seconds for the search of the culprit on the reduced repro.
CULPRIT_BUDGET = 60.0
#: For the programs next to the repro: a share of the seconds that the rest took, at least and at
#: most so many.
_SHARE_OF_NEIGHBOURS = 0.2
_LEAST_FOR_NEIGHBOURS, _MOST_FOR_NEIGHBOURS = 10.0, 30.0


class ReproBuilder:
    """From a recording to a repro: `search`, `verification`, and what is measured on the result.

    Its stages are called in the order in which they stand here.
    """

    def __init__(
        self,
        captured: CapturedCall,
        run: Run,
        workers: WorkerSet,
        journal: Journal | None,
        on_smaller: Callable[[Candidate, str], None] = lambda _, __: None,
    ) -> None:
        self.search = ProgramSearch(captured, run, workers, journal, on_smaller)
        self.verification = Verification(captured, run, workers)
        self.captured = captured
        self.wanted = self.search.wanted
        self.options = run.options
        self.within = run.within
        self.progress = run.progress
        self.pool = workers.pool
        self.warm = workers.warm
        self.fresh = workers.fresh
        self.contrasts = workers.contrasts
        self.started = run.started

    def reduce(self) -> ReducedProgram:
        """The smallest public program that shows the failure in a warm worker.

        Raises CannotJudgeError if no public program shows it.
        """
        return self.search.reduce()

    def verify(self, reduced: ReducedProgram) -> VerifiedRepro:
        """The formatted text in fresh processes. Raises CannotJudgeError if none shows it."""
        return self.verification.verify(reduced, self.search.accepted)

    def measure(self, verified: VerifiedRepro, extras: Extras) -> BuiltRepro:
        """What the report says beside the repro, all of it measured on the final text."""
        text, cold, reduced = verified.text, verified.cold, verified.reduced
        # the harness judges each row with float64, which a plain comparison does not
        harness = verified.harness
        check = reduced.candidate.check
        rows: tuple[RungRow, ...] = ()
        rows = extras.measure(
            "ablation",
            f"seen in {verified.hits} of {FRESH_PROCESSES}",
            lambda: tuple(ablation(self.pool, harness, check, self.wanted)),
            (),
        )
        culprit = extras.measure(
            "culprit", "the pass or operator at fault", lambda: self._culprit(harness, check), None
        )
        near: tuple[NeighbourResult, ...] = ()
        if self._has_neighbours():
            near = extras.measure(
                "neighbours",
                "other dtypes, sizes, layouts and operators",
                lambda: tuple(
                    find_neighbours(
                        self.pool, matcher(self.wanted), verified.parts, self._for_neighbours()
                    )
                ),
                (),
            )
        summary = public_summary(self.captured, cold, check.compiler)
        shown = extras.measure(
            "test and pictures",
            "from the final text",
            lambda: self._measurements(verified, summary),
            None,
        )
        others: tuple[Other, ...] = ()
        if self.search.others.all():
            others = extras.measure(
                "other findings",
                "fresh processes",
                lambda: self.search.others.confirm(
                    Path(self.captured.python), 4 * self.pool.time_limit, self.warm
                ),
                (),
            )
        return BuiltRepro(
            candidate=reduced.candidate,
            text=text,
            harness=harness,
            signature=self.wanted,
            cold=cold,
            reproduced=(verified.hits, len(cold)),
            ablation=rows,
            culprit=culprit,
            counts=self.search.scheduler.counts,
            others=tuple(replace(other, text=format_program(other.text)) for other in others),
            unverified=self.search.others.all(),
            differs_from=verified.differs_from,
            different=reduced.different,
            history=(
                *self.search.history,
                (self.search.scheduler.counts.settled, *_size(reduced.candidate, text)),
            ),
            summary=summary,
            measured=shown,
            neighbours=near,
            numbers_left=numbers_left(text, verified.needed),
        )

    def _measurements(self, verified: VerifiedRepro, summary: str) -> Measurements:
        """The regression test, verified, and the numbers of the pictures, all from the final
        program.
        """
        seconds = max(answer.seconds for answer in verified.cold)
        verdict = {
            "kind": str(self.wanted.kind),
            "layer": str(self.captured.layer),
            "summary": summary,
        }
        subject = FinalText(
            verified.text,
            verified.harness,
            {"verdict": verdict, "repro": {"operators": operators(verified.harness)}},
            self.fresh,
            self.pool,
            tuple(self.contrasts),
            matcher(self.wanted),
        )
        return measure(subject, self.verification.limit(), seconds, self.options.jobs)

    def _has_neighbours(self) -> bool:
        """Whether other programs are tried; of what hangs each would take the whole limit."""
        is_hang = self.captured.kind == Kind.HANG
        return not (self.search.as_whole or is_hang or self.search.backend is not None)

    def _for_neighbours(self) -> float:
        """Seconds for the programs next to the repro."""
        share = _SHARE_OF_NEIGHBOURS * (time.monotonic() - self.started)
        return self.within(max(_LEAST_FOR_NEIGHBOURS, min(_MOST_FOR_NEIGHBOURS, share)))

    def _culprit(self, text: str, check: ReproCheck) -> CulpritSection | None:
        """The pass or operator at fault and the settings that avoid it, measured on the repro
        itself.
        """
        layer = self.wanted.layer
        if layer is None or layer not in LAYERS or check.compiler != COMPILE:
            return None
        mode = dict(check.arguments).get("mode", "").strip("'\"") or None
        return find(
            pool_experiment(self.pool, text, self.wanted),
            SuspectedBug(layer, self.wanted.kind, mode=mode),
            SearchBudget(self.within(CULPRIT_BUDGET), self.options.jobs),
            self.progress.note if self.options.verbose else lambda _: None,
        )


def _size(candidate: Candidate, text: str) -> tuple[int, int]:
    return source_candidates.statements(candidate), sum(
        1 for line in text.splitlines() if line.strip()
    )
