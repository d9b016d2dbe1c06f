"""The sections of what is said beside a verdict: where the failure was raised, the guard that is
missing, where eager and compiled part, the culprit, and graph breaks.
"""

from __future__ import annotations

from reporter.core.kinds import Layer
from reporter.report.sections.base import ErrorValue, Section
from reporter.report.sections.measurements import MeasurementSection
from reporter.report.sections.stages import StageRow


class TriedSection(Section, frozen=True, kw_only=True):
    """One switch and what it did: `gone` is null where that could not be judged."""

    name: str
    setting: str
    meaning: str
    gone: bool | None
    seconds: float = 0.0
    detail: str = ""


class CulpritSection(Section, frozen=True, kw_only=True):
    """Where in the compiler the bug is made, and the settings under which it is gone.

    `application` of `of` counts the applications of the `subsystem` from 1. `confirmed` says
    whether the workaround helps in the user's own backend, `on_call` whether it does on the
    recorded call, which then takes `relative_time` times as long as in eager mode.
    """

    layer: Layer
    stable: bool
    subsystem: str | None = None
    application: int | None = None
    of: int | None = None
    operator: str | None = None
    graph_pass: str | None = None
    exact: bool = False
    subsystems: tuple[TriedSection, ...] = ()
    switches: tuple[TriedSection, ...] = ()
    workaround: tuple[str, ...] = ()
    confirmed: bool | None = None
    on_call: bool | None = None
    relative_time: float | None = None
    minimal: bool = True
    not_tried: tuple[str, ...] = ()
    runs: int = 0
    seconds: float = 0.0
    measured_seconds: float = 0.0


class StackSection(Section, frozen=True, kw_only=True):
    """The phase of compilation in which the failure was raised, and torch's frames, inner first."""

    phase: str
    frames: tuple[str, ...] = ()


class ChangedSize(Section, frozen=True, kw_only=True):
    """A size or number that differs between the call a graph was made for and the one it served."""

    where: str
    dimension: int | None
    compiled: float
    now: float

    @property
    def name(self) -> str:
        """Its name in words, without names of the user's."""
        return self.where if self.dimension is None else f"{self.where}, dimension {self.dimension}"


class GuardSection(Section, frozen=True, kw_only=True):
    """The guard that is missing; `confirmed`: held static, the result is right."""

    changed: tuple[ChangedSize, ...]
    checked: tuple[str, ...]
    used: tuple[str, ...]
    symbols: dict[str, str]
    missing: str
    confirmed: bool | None


class DivergencePoint(Section, frozen=True, kw_only=True):
    """Eager and compiled after one operation of the graph."""

    # of the tensor of it, or of the gradient through it, that is furthest off
    position: int
    operator: str | None
    max_abs_error: ErrorValue = None
    max_ulp: ErrorValue = None
    error_vs_fp64: ErrorValue = None
    eager_error_vs_fp64: ErrorValue = None
    same: bool = True
    mismatched: int | None = None
    elements: int | None = None


class DivergenceSection(Section, frozen=True, kw_only=True):
    """Where along the graph eager and compiled part; `first` is a position, null if they do not."""

    points: tuple[DivergencePoint, ...]
    first: int | None
    #: operations of the graph
    of: int
    operator: str | None
    #: whether all that `first` is computed from agrees
    complete: bool
    grads: bool = False
    #: whether the graph as it is differs
    whole: bool | None = None
    failed: int = 0


class GraphBreakRow(Section, frozen=True, kw_only=True):
    """One place of the private program where tracing stops, met `count` times.

    `public` is the part of the reason in torch's own words; `whole`: the function is not compiled
    at all.
    """

    reason: str
    file: str
    line: int
    function: str
    count: int
    public: str = ""
    explanation: str = ""
    whole: bool = False


class RecompileRow(Section, frozen=True, kw_only=True):
    """One repeated compilation; `call` counts the calls with different arguments from 1."""

    call: int
    guard: str
    file: str
    line: int
    function: str
    public: str = ""


class GraphBreakSection(Section, frozen=True, kw_only=True):
    """Graph breaks and recompilations; `broken` and `recompiled` are the script's own counts."""

    graphs: int
    graph_breaks: tuple[GraphBreakRow, ...]
    recompiles: tuple[RecompileRow, ...]
    limit: int
    limit_hit: bool
    broken: int = 0
    recompiled: int = 0


class DiagnosisSections(Section, frozen=True, kw_only=True):
    """What was measured beside a verdict; what does not apply is None."""

    measurement: MeasurementSection | None = None
    stack: StackSection | None = None
    missing_guard: GuardSection | None = None
    divergence: DivergenceSection | None = None
    culprit: CulpritSection | None = None
    #: graph breaks and recompilations of the private program, for its owner
    graph_breaks: GraphBreakSection | None = None
    #: what each stage used, in the order in which they began
    timing: dict[str, StageRow] | None = None
