"""The documents that the tool writes as JSON, section by section: report.json and that of `check`.

A run ends in a `Report`, and everything else in its folder (issue, page, test) is rendered from
that, so no two of them can disagree. These types are what a reader may rely on: documents are
written from them and read into them, and the JSON Schemas beside this module are made from them.
Keys that a release does not know are passed over, so a reader of a version reads all of it.
Errors are absolute; times are wall seconds; `seconds` is of what the section describes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from collectors.protocol.words import PlainValue
from reporter.core.errors import UsageError
from reporter.core.json_values import Json, make_plain
from reporter.core.kinds import CheckOutcome, Compiler, Kind, Layer, RungOutcome
from reporter.core.signature import Signature
from reporter.report.base_section import ErrorValue, Section
from reporter.report.environment import build_public_environment
from reporter.report.folder import load_document
from reporter.report.kernel_sections import GeneratedKernelsSection, TritonSection
from reporter.report.machine_sections import EnvironmentSection

#: Of report.json. Version 1 had other names for some keys, and wall seconds alone in `timing`; it
#: is
#: read as version 2.
SCHEMA_VERSION: Literal[2] = 2
_RENAMED = {"exhibit": "pictures", "complaints": "graph_breaks"}
#: Of the document of `check`.
CHECK_VERSION: Literal[1] = 1
_D = TypeVar("_D")


class Verdict(Section, frozen=True):
    """What it is, where it is, and how often it was seen: `reproduced` = (times seen, times run).

    With a repro the runs are fresh processes; without one they are the script's call and its
    repetitions. `signature` has the kind, the layer, and what tells it from others of these: the
    exception, the property that differs or the signal. `explanation` says what the kind means,
    `command` repeats the measurement. With `is_from_cache` a reused graph came out of the
    compiler's cache, and no guard is missing.
    """

    kind: Kind
    layer: Layer
    is_bug: bool
    summary: str
    signature: str = ""
    exception: str | None = None
    message: str | None = None
    reproduced: tuple[int, int] = (0, 0)
    explanation: str = ""
    command: str = ""
    is_from_cache: bool | msgspec.UnsetType = msgspec.UNSET


class RungRow(Section, frozen=True):
    """One variation of the recorded call; the root mean squares are against eager in float64."""

    rung: str
    outcome: RungOutcome
    detail: str = ""
    max_abs_error: ErrorValue = None
    error_vs_fp64: ErrorValue = None
    eager_error_vs_fp64: ErrorValue = None
    seconds: float | None = None


class Requires(Section, frozen=True):
    """What the repro cannot do without; `dynamic` null is the default, `config` torch's
    settings.
    """

    backward: bool = False
    dynamic: bool | None = None
    mode: str | None = None
    config: dict[str, PlainValue] = {}
    contexts: tuple[str, ...] = ()


class NeighbourRow(Section, frozen=True):
    """A program next to the repro, as `dtype: int8`, and whether it fails in the same way."""

    change: str
    fails: bool


class ReproInfo(Section, frozen=True):
    """The repro by its numbers; `statements` counts the tensor operations of its program.

    `neighbours` are variants that run in eager mode; those that could not be judged are left out.
    `control` is the command of the control run, the interpreter first, where it is not the same
    file with `TORCHDYNAMO_DISABLE=1`. `eager_error` is what eager mode says of a program that it
    rejects, where the compiled one returns or the process dies: class and first line.
    """

    path: str
    statements: int
    lines: int
    operators: tuple[str, ...] = ()
    verified_cold: bool = False
    candidates: int = 0
    seconds: float = 0.0
    neighbours: tuple[NeighbourRow, ...] = ()
    compiler: Compiler = Compiler.COMPILE
    control: tuple[str, ...] | None = None
    eager_error: str | None = None


class OtherFinding(Section, frozen=True, kw_only=True):
    """Another failure that was met on the way; `path` is its program below the report folder."""

    kind: Kind
    signature: str
    lines: int
    path: str = ""


class LeakCheckSection(Section, frozen=True):
    """The leak check; a report that failed it is never written, so `findings` is empty."""

    passed: bool
    terms_checked: int
    findings: tuple[()] = ()


class ReleaseRow(Section, frozen=True, kw_only=True):
    """What the finished repro did on another release, which was built from the commit `git`."""

    torch: str
    outcome: CheckOutcome
    git: str | None = None


class ContrastSection(Section, frozen=True, kw_only=True):
    """Another interpreter in which the repro passes."""

    torch: str
    python: str
    outcome: Literal["passes"]


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


class ValueRow(Section, frozen=True, kw_only=True):
    """One tensor that differs: `output 0`, `changed input 0`, `gradient 0`; what could not be
    measured is left out.

    `nan` and `inf` count the elements of (eager, compiled).
    """

    where: str
    property: str
    #: whether the rule takes it for rounding
    same: bool
    max_abs_error: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    #: in units in the last place
    max_ulp: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    error_vs_fp64: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    eager_error_vs_fp64: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    mismatched: int | msgspec.UnsetType = msgspec.UNSET
    elements: int | msgspec.UnsetType = msgspec.UNSET
    nan: tuple[int, int] | msgspec.UnsetType = msgspec.UNSET
    inf: tuple[int, int] | msgspec.UnsetType = msgspec.UNSET
    #: the side that gives no gradient
    missing: Literal["eager", "compiled"] | msgspec.UnsetType = msgspec.UNSET
    #: indices that differ only where what they index ties
    tied: bool | msgspec.UnsetType = msgspec.UNSET


class MetadataRow(Section, frozen=True, kw_only=True):
    """Something about a tensor other than its values: shape, dtype, stride, alias, …"""

    where: str
    property: str
    eager: str
    compiled: str


class MeasurementSection(Section, frozen=True, kw_only=True):
    """The rule's numbers for every output, changed input and gradient that differs."""

    rule: int | None
    reference: str | None
    values: tuple[ValueRow, ...] = ()
    metadata: tuple[MetadataRow, ...] = ()


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


class FingerprintSection(Section, frozen=True, kw_only=True):
    """What the same failure has in every report of it; `parts` are what was hashed."""

    value: str
    parts: tuple[str, ...]


class FailureSection(Section, frozen=True, kw_only=True):
    """The crash as a fresh process showed it, in the form in which `check` compares it."""

    kind: Kind
    layer: Layer | None = None
    exception: str | None = None
    message: str | None = None
    frames: tuple[str, ...] = ()
    property: str | None = None
    signal: str | None = None
    error_ratio: float | None = None
    undefined: tuple[str, ...] = ()
    version: int = 1

    def to_signature(self) -> Signature:
        """The failure with what compares it to others."""
        return Signature(**msgspec.structs.asdict(self))


class TestSection(Section, frozen=True, kw_only=True):
    """The regression test: whether it fails here, and the releases on which it passes."""

    path: str
    fails_here: bool = False
    passes_on: tuple[str, ...] = ()


class CollectorRow(Section, frozen=True, kw_only=True):
    """One of torch's debugging tools; `bytes` is the size of its files."""

    collector: str
    outcome: Literal["ok", "skipped"]
    reason: str
    seconds: float
    bytes: int


class PublicBreak(Section, frozen=True, kw_only=True):
    """A graph break of the repro, in torch's words, and how often it was met."""

    reason: str
    count: int


class EvidenceSection(Section, frozen=True, kw_only=True):
    """What torch's own tools say of the repro; without an `excerpt`, `no_excerpt` says why."""

    seconds: float
    collectors: tuple[CollectorRow, ...] = ()
    compile_seconds: dict[str, float] = {}
    graphs: int | None = None
    operations: tuple[int, ...] = ()
    graph_breaks: tuple[PublicBreak, ...] = ()
    recompiles: int = 0
    vector_isa: str | None = None
    excerpt: str | None = None
    no_excerpt: str = ""
    triton_kernels: GeneratedKernelsSection | msgspec.UnsetType = msgspec.UNSET


class ElementRow(Section, frozen=True, kw_only=True):
    """One element of the worst output; `nan`, `inf` and `-inf` are texts."""

    index: tuple[int, ...]
    eager: bool | int | float | str
    compiled: bool | int | float | str


class ErrorMapSection(Section, frozen=True, kw_only=True):
    """Where the worst output is off; the cells of the map stay in `private/`.

    `step`: rows and columns of the tensor that one cell stands for; `off` of `elements` are not
    close to the reference. `worst` has all elements of a small output, else the worst few.
    """

    output: int
    of: int
    shape: tuple[int, ...]
    step: tuple[int, ...]
    max: ErrorValue
    off: int
    elements: int
    reference: Literal["float64", "eager"]
    worst: tuple[ElementRow, ...] = ()


class BreakLineRow(Section, frozen=True, kw_only=True):
    """A line of repro.py at which Dynamo breaks the graph."""

    line: int
    reason: str


class PathPoint(Section, frozen=True, kw_only=True):
    """Root mean square errors after one operation of the repro's graph, or why there are none."""

    position: int
    operator: str | None
    eager: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    compiled: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    reference: str | None | msgspec.UnsetType = msgspec.UNSET
    error: str | None = None


class PathSection(Section, frozen=True, kw_only=True):
    """The errors along graph number `graph` of the repro, which has `of` operations."""

    graph: int
    of: int
    points: tuple[PathPoint, ...]


class PictureSection(Section, frozen=True, kw_only=True):
    """The numbers of the pictures of report.html, measured on the finished repro."""

    error_map: ErrorMapSection | msgspec.UnsetType = msgspec.UNSET
    graph_breaks: tuple[BreakLineRow, ...] | msgspec.UnsetType = msgspec.UNSET
    graphs: int | msgspec.UnsetType = msgspec.UNSET
    divergence: PathSection | msgspec.UnsetType = msgspec.UNSET


class ListComparisonSection(Section, frozen=True, kw_only=True):
    """How alike the tensors of the private program and of the rewritten one are."""

    how: Literal["bitwise", "close", "refereed", "differ", "not compared"]
    count: int | msgspec.UnsetType = msgspec.UNSET
    max_abs_error: ErrorValue | msgspec.UnsetType = msgspec.UNSET
    detail: str | msgspec.UnsetType = msgspec.UNSET


class OperatorSection(Section, frozen=True, kw_only=True):
    """What reached the dispatcher in both; `changed`: operator -> (before, after)."""

    same: bool
    count: int
    changed: dict[str, tuple[int, int]] = {}


class BatchSection(Section, frozen=True, kw_only=True):
    """The outputs of both models for a batch of another size; "raises": only the private one
    accepts it.
    """

    size: int
    how: Literal["bitwise", "close", "refereed", "differ", "not compared", "raises"]

    @property
    def is_same(self) -> bool:
        """Whether the rewritten model holds for it."""
        return self.how not in ("raises", "differ")


class EquivalenceSection(Section, frozen=True, kw_only=True):
    """The proof that a whole model computes the same, and the operators that it has.

    `batch`: the same with one more row, where the private model accepts that.
    `stand_ins`: functions of the repro that stand for private operations, of which nothing is
    claimed; `taken_apart`: what is written as other operators on purpose.
    """

    proved: bool
    rewritten_from: Literal["source"] | msgspec.UnsetType = msgspec.UNSET
    outputs: ListComparisonSection
    gradients: ListComparisonSection
    buffers: ListComparisonSection
    operators: OperatorSection
    batch: BatchSection | msgspec.UnsetType = msgspec.UNSET
    stand_ins: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    taken_apart: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class StockDifference(Section, frozen=True, kw_only=True):
    """What a whole model needs beside stock layers to fail."""

    needs: tuple[str, ...]
    skeleton: str
    tried: int


class IssueSection(Section, frozen=True, kw_only=True):
    """What the issue says beside the report's numbers; `releases` maps a release to what it did."""

    environment: EnvironmentSection
    version: str
    error_log: str = ""
    #: phrases without a full stop
    culprit: str = ""
    workaround: str = ""
    releases: dict[str, str] = {}
    #: what the reporter wrote; only then does the text say that a person confirmed it
    human_words: str = ""
    #: marks the issue, so that it is never filed twice
    key: str = ""
    #: its name, "own" for a folder of the user's
    form: str = "pytorch"
    #: caption, language and text of what the compiler made of the repro, such as a kernel
    excerpt: dict[str, str] | None = None


class LintFinding(Section, frozen=True, kw_only=True):
    """A rule that something breaks, and what would satisfy it."""

    rule: str
    weight: str
    file: str
    line: int | None
    found: str
    wants: str
    way_out: str

    def describe(self) -> str:
        """For people: place, rule, what is wrong and what to do."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.found} [{self.rule}]; {self.way_out}"


class LintSection(Section, frozen=True, kw_only=True):
    """The issue against the rules of the receiving side."""

    clean: bool
    rules: tuple[str, ...] = ()
    findings: tuple[LintFinding, ...] = ()


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


class StageRow(Section, frozen=True, kw_only=True):
    """What one stage of a run used; a report of schema version 1 tells the wall seconds alone.

    `wall` and `cpu` are seconds, `cpu` those of all processors together; `compilations` counts the
    frames that Dynamo compiled or tried to.
    """

    wall: float
    cpu: float | None = None
    compilations: int | None = None
    processes: int | None = None


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


class Report(Section, frozen=True):
    """report.json. Sections that do not apply to a verdict are left out."""

    verdict: Verdict
    ladder: tuple[RungRow, ...] = ()
    torch: str = ""
    python: str = ""
    device: str = "cpu"
    requires: Requires = Requires()
    repro: ReproInfo | None = None
    labels: tuple[str, ...] = ()
    other_findings: tuple[OtherFinding, ...] = ()
    audit: LeakCheckSection | None = None
    #: other interpreters, in which the repro passes
    differs_from: tuple[ContrastSection, ...] | None = None
    #: other releases on which the repro was tried
    releases: tuple[ReleaseRow, ...] | None = None
    #: what could be said beside the verdict, as sentences
    remarks: tuple[str, ...] | None = None
    measurement: MeasurementSection | None = None
    stack: StackSection | None = None
    missing_guard: GuardSection | None = None
    divergence: DivergenceSection | None = None
    culprit: CulpritSection | None = None
    #: graph breaks and recompilations of the private program, for its owner
    graph_breaks: GraphBreakSection | None = None
    triton: TritonSection | None = None
    #: sizes of the private program that the failure needs
    sizes_left: tuple[float, ...] | None = None
    #: other numbers of it, which were tried with generic ones in their place
    numbers_left: tuple[float, ...] | None = None
    equivalence: EquivalenceSection | None = None
    differs_from_stock: StockDifference | None = None
    failure: FailureSection | None = None
    fingerprint: FingerprintSection | None = None
    #: (candidates settled, tensor operations, lines), each time the program got smaller
    reduction: tuple[tuple[int, int, int], ...] | None = None
    evidence: EvidenceSection | None = None
    pictures: PictureSection | None = None
    test: TestSection | None = None
    #: what each stage used, in the order in which they began; there is no time between them
    timing: dict[str, StageRow] | None = None
    #: stages that were left out, since the run was cut short
    not_measured: tuple[str, ...] | None = None
    issue: IssueSection | None = None
    lint: LintSection | None = None
    schema_version: Literal[2] = SCHEMA_VERSION

    def to_json(self) -> Json:
        """Plain JSON values, `schema_version` first, without the sections that are None."""
        document = super().to_json()
        version = document.pop("schema_version")
        left = {name: value for name, value in document.items() if value is not None}
        return {"schema_version": version, **left}

    def dumps(self) -> str:
        """The text of `report.json`."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


class CheckRow(Section, frozen=True, kw_only=True):
    """What one repro does in one place; `runs` = (runs that showed the outcome, runs)."""

    repro: str
    key: str
    release: str
    torch: str
    python: str
    outcome: CheckOutcome
    detail: str
    seconds: float = 0.0
    runs: tuple[int, int] = (0, 0)
    build: str = ""
    git: str | None = None
    signature: FailureSection | None = None
    issue: str = ""
    time: str = ""


class ChangeRow(Section, frozen=True, kw_only=True):
    """A cell that shows something else than the last time."""

    repro: str
    torch: str
    release: str
    before: CheckOutcome
    now: CheckOutcome


class CommentRow(Section, frozen=True, kw_only=True):
    """What an issue was told, or why not."""

    repro: str
    issue: str
    outcome: CheckOutcome
    torch: str
    url: str | None = None
    trouble: str | None = None


class CheckDocument(Section, frozen=True, kw_only=True):
    """The document of `check --json`; `comments` are there if issues were to be told."""

    schema_version: Literal[1] = CHECK_VERSION
    results: tuple[CheckRow, ...]
    changes: tuple[ChangeRow, ...] = ()
    comments: tuple[CommentRow, ...] | msgspec.UnsetType = msgspec.UNSET


#: Each kind of document by the name of its schema.
DOCUMENTS: Mapping[str, type[Section]] = {"report": Report, "check": CheckDocument}


def read_report(document: object, location: str) -> Report:
    """The sections of a report.json that was read from `location`.

    Raises:
        UsageError: it is no report, or not of this schema.
    """
    try:
        return _convert(_rebuild_environment(_upgrade(document)), Report)
    except (msgspec.ValidationError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(
            f"{location} was not written by this version of bugreport ({error}); update it, or"
            " write the report anew"
        ) from None


def load_report(folder: Path) -> Report | None:
    """The report of a folder; None where there is none.

    Raises:
        UsageError: it is of another schema.
    """
    document = load_document(folder)
    return None if document is None else read_report(document, str(folder))


def _upgrade(document: object) -> object:
    """A document of version 1 as version 2 has it; anything else as it is."""
    if not isinstance(document, Mapping) or document.get("schema_version") != 1:
        return document
    new = {_RENAMED.get(key, key): value for key, value in document.items()}
    if new.get("timing"):
        new["timing"] = {name: {"wall": wall} for name, wall in new["timing"].items()}
    if new.get("differs_from_stock"):
        stock = {**new["differs_from_stock"]}
        new["differs_from_stock"] = {"needs": stock.pop("ingredients", ()), **stock}
    return {**new, "schema_version": SCHEMA_VERSION}


def _rebuild_environment(document: object) -> object:
    """The document with the facts of the machine as this release has them: an earlier one wrote
    more of them, and some in another form.
    """
    issue = document.get("issue") if isinstance(document, Mapping) else None
    facts = issue.get("environment") if isinstance(issue, Mapping) else None
    if not isinstance(facts, Mapping):
        return document
    assert isinstance(document, Mapping) and isinstance(issue, Mapping)
    issue = {**issue, "environment": build_public_environment(facts)}
    return {**document, "issue": issue}


def build_section(kind: type[_D], facts: object) -> _D:
    """A section from what the rest of the tool knows it as: a dataclass or a dictionary.

    Raises:
        msgspec.ValidationError: it has other values than the section may have.
    """
    return _convert(make_plain(msgspec.to_builtins(facts)), kind)


def _convert(document: object, kind: type[_D]) -> _D:
    return msgspec.convert(document, kind, strict=False)
