"""report.json as a whole."""

from __future__ import annotations

import json
from typing import Literal

from reporter.core.json_values import Json
from reporter.report.sections.base import Section
from reporter.report.sections.debugging_tools import EvidenceSection
from reporter.report.sections.details import (
    CulpritSection,
    DivergenceSection,
    GraphBreakSection,
    GuardSection,
    StackSection,
)
from reporter.report.sections.finished_repro import (
    ContrastSection,
    ReleaseRow,
    ReproInfo,
    Requires,
    TestSection,
)
from reporter.report.sections.measurements import MeasurementSection, RungRow
from reporter.report.sections.outgoing import IssueSection, LeakCheckSection, LintSection
from reporter.report.sections.pictures import PictureSection
from reporter.report.sections.stages import StageRow
from reporter.report.sections.triton import TritonSection
from reporter.report.sections.verdict import (
    FailureSection,
    FingerprintSection,
    OtherFailureSection,
    Verdict,
)
from reporter.report.sections.whole_model import EquivalenceSection, StockDifference

#: Version 1 had other names for some keys, and wall seconds alone in `timing`; it is read as
#: version 2.
SCHEMA_VERSION: Literal[2] = 2


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
    other_findings: tuple[OtherFailureSection, ...] = ()
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
