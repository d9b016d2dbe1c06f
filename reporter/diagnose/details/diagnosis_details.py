"""What belongs to a verdict beyond its kind and layer: numbers per output, the culprit, where
values part, the missing guard.

Nothing here changes the verdict. Each part has a time budget of its own; what was not measured is
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from reporter.core.kinds import (
    BACKEND_OF,
    WRONG_VALUES,
    Backend,
    Kind,
    Layer,
    RungOutcome,
    Symptom,
)
from reporter.diagnose.comparisons import is_of_tangents
from reporter.diagnose.details import culprit, divergence, graph_breaks, guards, suspect
from reporter.diagnose.details.experiment import ask_supported_variations, make_call_experiment
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.ladder import describe_reference
from reporter.diagnose.rungs import FALLBACK_RANDOM, RANDOM_SETTING
from reporter.recording.findings import Recording
from reporter.report.sections.base import build_section
from reporter.report.sections.details import (
    CulpritSection,
    DiagnosisSections,
    DivergenceSection,
    GraphBreakSection,
    GuardSection,
    StackSection,
)
from reporter.report.sections.measurements import MeasurementSection, MetadataRow, ValueRow

#: Seconds for the culprit and for the divergence profile of one diagnosis, at most.
_MOST_OF_CULPRIT, _MOST_OF_DIVERGENCE = 90.0, 60.0
#: Seconds for each of them at least, and how many times the program's own seconds lie between.
_LEAST, _TIMES = 20.0, 2.0

_NUMBERS = (
    "where",
    "property",
    "same",
    "max_abs_error",
    "max_ulp",
    "error_vs_fp64",
    "eager_error_vs_fp64",
    "mismatched",
    "elements",
    "nan",
    "inf",
    "missing",
    "tied",
)


@dataclass(frozen=True)
class DiagnosisDetails:
    """The sections of a diagnosis, and what to tell a person of them.

    `remark_diagnosis` is the diagnosis in place of "all agrees" where the program is right but slow
    to no purpose.
    """

    sections: DiagnosisSections
    lines: tuple[str, ...]
    remark_diagnosis: Diagnosis | None = None


@dataclass(frozen=True)
class DetailLimits:
    """How much may be measured beside a verdict.

    Attributes:
        timeout: seconds for one question to the recorded call.
        jobs: how many questions may run side by side.
        thorough: whether divergence and culprit are searched, too, which takes minutes.
    """

    timeout: float
    jobs: int
    thorough: bool


@dataclass
class _DetailsGatherer:
    """The parts of the details, each with what it tells a person; see `gather`."""

    diagnosis: Diagnosis
    recording: Recording
    limits: DetailLimits
    say: Callable[[str], None]
    checked: bool
    lines: list[str] = field(default_factory=list)

    def _limit_seconds(self, most: float) -> float:
        """Seconds for a part that may take so many."""
        return min(most, max(_LEAST, _TIMES * self.recording.script.seconds))

    def find_stack(self) -> StackSection | None:
        torch_frame = self.diagnosis.torch_frame
        return (
            StackSection(phase=torch_frame.phase, frames=torch_frame.frames)
            if torch_frame is not None
            else None
        )

    def find_guard(self) -> GuardSection | None:
        finding = self.diagnosis.basis.finding
        is_stale = self.diagnosis.kind == Kind.STALE_GRAPH and not self.diagnosis.is_from_cache
        if not is_stale or finding is None:
            return None
        found = guards.find(finding, self.limits.timeout)
        if found is not None:
            self.lines.append(guards.describe(found))
        return found

    def find_graph_breaks(self) -> tuple[GraphBreakSection | None, Diagnosis | None]:
        """Graph breaks and recompiles; the verdict itself if nothing else is to be said of the
        script.
        """
        found = graph_breaks.collect(self.recording, self.limits.timeout)
        if found is None:
            return None, None
        nothing_else = (
            self.diagnosis.kind == Kind.NOT_REPRODUCED and self.recording.script.exit == 0
        )
        seen = self.recording.rejected or any(
            finding.symptom != Symptom.SUSPICIOUS for finding in self.recording.findings
        )
        quiet = nothing_else and not seen and not self.checked
        if quiet and (found.limit_hit or found.graph_breaks):
            kind = Kind.RECOMPILES if found.limit_hit else Kind.GRAPH_BREAK
            summary = f"{self.diagnosis.summary} But: {graph_breaks.describe(found)}."
            return found, Diagnosis(kind, Layer.DYNAMO, summary)
        self.lines.append(f"Also seen: {graph_breaks.describe(found)}.")
        return found, None

    def find_divergence(self) -> DivergenceSection | None:
        diagnosis = self.diagnosis
        finding, ladder = diagnosis.basis.finding, diagnosis.basis.ladder
        if diagnosis.kind not in WRONG_VALUES or finding is None or ladder is None:
            return None
        if diagnosis.layer == Layer.EAGER:  # without a compiler there are no two sides that part
            return None
        if is_of_tangents(diagnosis.comparison):  # prefixes of the graph are run without them
            return None
        forced = ladder[FALLBACK_RANDOM].outcome == RungOutcome.DIFFERS
        settings = divergence.PrefixSettings(
            grads=diagnosis.kind == Kind.WRONG_GRADIENT,
            backend=Backend.AOT_EAGER if diagnosis.layer == Layer.AOT_AUTOGRAD else None,
            config={RANDOM_SETTING: True} if forced else {},
        )
        budget = divergence.DivergenceBudget(
            self._limit_seconds(_MOST_OF_DIVERGENCE), self.limits.timeout, self.limits.jobs
        )
        found = divergence.find_divergence(finding, settings, budget, self.say)
        if found is None:
            return None
        self.lines.append(divergence.describe(found))
        return divergence.drop_nonfinite_numbers(found)

    def find_culprit(self) -> CulpritSection | None:
        diagnosis = self.diagnosis
        if (
            diagnosis.basis.finding is None
            or diagnosis.basis.ladder is None
            or diagnosis.layer not in BACKEND_OF
        ):
            return None
        timeout = self.limits.timeout
        mode = diagnosis.basis.finding.original.options.get("mode")
        names = culprit.list_changeable_settings(diagnosis.layer)
        found = culprit.find(
            make_call_experiment(diagnosis, timeout),
            culprit.SuspectedBug(
                diagnosis.layer,
                diagnosis.kind,
                diagnosis.basis.ladder.device,
                mode if isinstance(mode, str) else None,
            ),
            culprit.SearchBudget(self._limit_seconds(_MOST_OF_CULPRIT), self.limits.jobs),
            self.say,
            ask_supported_variations(diagnosis.basis.finding.call_session, names, timeout),
        )
        said = suspect.describe(found)
        if said:
            self.lines.append(said)
        return found


def gather(
    diagnosis: Diagnosis,
    recording: Recording,
    limits: DetailLimits,
    *,
    say: Callable[[str], None],
    checked: bool,
) -> DiagnosisDetails:
    """Measures what a verdict asks for.

    Args:
        say: gets a line for each measurement.
        checked: the script compares results itself, so whoever wrote it asks whether they are
            right, not how fast it is.
    """
    gatherer = _DetailsGatherer(diagnosis, recording, limits, say, checked)
    measurement, stack, guard = (
        _build_measurement(diagnosis),
        gatherer.find_stack(),
        gatherer.find_guard(),
    )
    searches = limits.thorough and diagnosis.is_bug
    part = gatherer.find_divergence() if searches else None
    culprit = gatherer.find_culprit() if searches else None
    breaks, remark_diagnosis = (None, None) if diagnosis.is_bug else gatherer.find_graph_breaks()
    sections = DiagnosisSections(
        measurement=measurement,
        stack=stack,
        missing_guard=guard,
        divergence=part,
        culprit=culprit,
        graph_breaks=breaks,
    )
    return DiagnosisDetails(sections, tuple(gatherer.lines), remark_diagnosis)


def _build_measurement(diagnosis: Diagnosis) -> MeasurementSection | None:
    """The rule's numbers for every output, changed input and gradient that differs."""
    comparison = diagnosis.comparison
    if comparison is None:
        return None
    values: list[Mapping[str, object]] = [*comparison["values"]]
    rows = [{key: item[key] for key in _NUMBERS if key in item} for item in values]
    return MeasurementSection(
        rule=comparison["rule"],
        reference=describe_reference(diagnosis.basis.ladder) if diagnosis.basis.ladder else None,
        values=tuple(build_section(ValueRow, row) for row in rows),
        metadata=tuple(build_section(MetadataRow, item) for item in comparison["metadata"]),
    )
