"""What the report says beside the repro, as far as it needs no more than the repro's text: the
ablation, the culprit and the programs next to it, asked in warm workers while fresh processes run
the text. A workaround that is found there is tried on the recorded call as well.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from msgspec.structs import replace as replace_section

from anonymizer.graph.repro import DERIVATIVE_CHECKS, ReproAssertion
from reporter.core.candidate import make_matcher
from reporter.core.kinds import Compiler, Kind, Layer
from reporter.core.signature import Signature
from reporter.diagnose.details.culprit import SearchBudget, SuspectedBug, find
from reporter.diagnose.details.experiment import Variation, make_pool_experiment
from reporter.diagnose.details.switches import SWITCHES
from reporter.diagnose.details.workaround import TriedWorkaround, try_on_call
from reporter.pipeline.budget import Budget
from reporter.pipeline.optional_measurements import OptionalMeasurements
from reporter.pipeline.reduce import ReducedProgram
from reporter.reduce.workers import WorkerSet
from reporter.report.sections.details import CulpritSection
from reporter.report.sections.measurements import RungRow
from reporter.verify.ablation import find_lower_layer, run_ablation
from reporter.verify.neighbours import NeighbourResult, find_neighbours
from reporter.verify.plain import PlainRepro

#: Seconds for the search of the culprit on the reduced repro, and for the workaround on the
#: recorded call.
_CULPRIT_BUDGET = 60.0
#: For the programs next to the repro: a share of the seconds that the rest took, at least and at
#: most so many.
_SHARE_OF_NEIGHBOURS = 0.2
_LEAST_FOR_NEIGHBOURS, _MOST_FOR_NEIGHBOURS = 10.0, 30.0
#: Seconds; longer than any limit.
_FOREVER = 1e9


@dataclass(frozen=True)
class BegunMeasurements:
    """What is measured of a `program` while fresh processes still run it; each part waits for its
    result. It stands if they show the failure of that program; else `stop` ends what is under way.
    """

    program: PlainRepro
    rows: Callable[[], tuple[RungRow, ...]]
    culprit: Callable[[], CulpritSection | None]
    neighbours: Callable[[], tuple[NeighbourResult, ...]]
    stop: Callable[[], None]


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
    stopped: threading.Event = field(default_factory=threading.Event)

    def begin(self, extras: OptionalMeasurements) -> BegunMeasurements:
        """Begins all of them, side by side."""
        no_rows: tuple[RungRow, ...] = ()
        no_neighbours: tuple[NeighbourResult, ...] = ()
        no_culprit: CulpritSection | None = None
        rows = extras.begin("ablation", self._ablate, no_rows)
        # not without the ablation, which says where the repro fails
        culprit = extras.begin(
            "culprit", lambda: self._find_culprit(rows.wait_beside()), no_culprit
        )
        return BegunMeasurements(
            self.program,
            rows.wait,
            culprit.wait,
            (
                extras.begin("neighbours", self._find_neighbours, no_neighbours).wait
                if self._has_neighbours()
                else lambda: no_neighbours
            ),
            self.stopped.set,
        )

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

    def _find_culprit(self, rows: Sequence[RungRow]) -> CulpritSection | None:
        """The pass or operator at fault and the settings that avoid it, tried on the recorded call
        as well.
        """
        verdict, assertion = self.reduced.captured.verdict, self.reduced.candidate.assertion
        wanted = replace(self._wanted, layer=choose_layer(rows, assertion, self._wanted))
        layer = wanted.layer
        if layer is None or layer not in SWITCHES or assertion.compiler != Compiler.COMPILE:
            return None
        if self.stopped.is_set():
            return None
        workarounds: list[Variation] = []
        found = find(
            make_pool_experiment(self.workers.pool, self.program.harness, wanted, verdict.failure),
            SuspectedBug(layer, wanted.kind, self.reduced.captured.device, assertion.read_mode()),
            SearchBudget(
                self.budget.limit(_CULPRIT_BUDGET), self.workers.options.jobs, self._read_clock
            ),
            self._say_unless_stopped,
            on_workaround=workarounds.append,
        )
        on_call = self._try_on_call(workarounds[0]) if workarounds else None
        if on_call is None:
            return found
        return replace_section(found, on_call=on_call.is_right, relative_time=on_call.relative_time)

    def _try_on_call(self, workaround: Variation) -> TriedWorkaround | None:
        """What the recorded call shows under the workaround, if it is still at hand."""
        diagnosis = self.reduced.origin.diagnosis
        if diagnosis is None or self.stopped.is_set():
            return None
        self.say("culprit: the workaround on the recorded call")
        limit = self.budget.limit(min(_CULPRIT_BUDGET, self.workers.options.timeout))
        return try_on_call(workaround, diagnosis, limit)

    def _find_neighbours(self) -> tuple[NeighbourResult, ...]:
        """The programs next to the repro: other dtypes, sizes, layouts and operators."""
        if self.stopped.is_set():
            return ()
        shows, pool = make_matcher(self._wanted), self.workers.pool
        limit = self._limit_neighbours()
        return tuple(find_neighbours(pool, shows, self.program, limit, self._read_clock))

    def _read_clock(self) -> float:
        """Seconds; every limit has passed once this is stopped."""
        return time.monotonic() + (_FOREVER if self.stopped.is_set() else 0.0)

    def _say_unless_stopped(self, message: str) -> None:
        if not self.stopped.is_set():
            self.say(message)

    def _has_neighbours(self) -> bool:
        """Whether other programs are tried; of what hangs each would take the whole limit, and
        finite differences mean nothing in other dtypes.
        """
        reduced = self.reduced
        if reduced.candidate.assertion.backward in DERIVATIVE_CHECKS or reduced.own_backend:
            return False
        is_whole = reduced.captured.material.whole is not None
        return not is_whole and reduced.captured.verdict.kind != Kind.HANG

    def _limit_neighbours(self) -> float:
        """Seconds for the programs next to the repro."""
        share = _SHARE_OF_NEIGHBOURS * self.budget.elapsed
        return self.budget.limit(max(_LEAST_FOR_NEIGHBOURS, min(_MOST_FOR_NEIGHBOURS, share)))


def choose_layer(
    rows: Sequence[RungRow], assertion: ReproAssertion, wanted: Signature
) -> Layer | None:
    """The layer that the repro fails in, by its ablation.

    Args:
        rows: what the repro did with each backend.
        assertion: the repro's; only of torch.compile is a lower layer looked for.
        wanted: the failure of the script, whose layer counts where the rows name no lower one.
    """
    is_compiled = assertion.compiler == Compiler.COMPILE
    lower = find_lower_layer(rows, wanted) if is_compiled else None
    return lower if lower is not None else wanted.layer
