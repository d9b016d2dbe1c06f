"""What a run hands over for publication: the reduced repro with what was measured of it, and how
the run ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reporter.core.candidate import Candidate
from reporter.core.json_values import Json
from reporter.publish.summary import Summary
from reporter.reduce.other_failures import OtherFailure
from reporter.reduce.scheduler import Counts
from reporter.report.sections.details import CulpritSection
from reporter.report.sections.finished_repro import ContrastSection, TestSection
from reporter.report.sections.measurements import RungRow
from reporter.report.sections.pictures import PictureSection
from reporter.report.sections.report_document import Report
from reporter.verify.fresh_answers import FreshAnswers
from reporter.verify.neighbours import NeighbourResult
from reporter.verify.plain import PlainRepro
from reporter.whole_model.source_model import Difference

if TYPE_CHECKING:
    from rich.table import Table

#: Exit code of `create` and `diagnose` where there is nothing to report.
NO_BUG = 1


@dataclass(frozen=True)
class PicturesAndTest:
    """The regression test, what fresh processes showed of it, and the numbers of the pictures.

    `shown` is how the test was seen: in a fresh process with the repro's own failure, and on the
    other releases. `numbers` may leave; `cells` are the errors in the map of
    the worst output.
    """

    test: str
    shown: TestSection
    numbers: PictureSection
    cells: Sequence[Sequence[float | None]] = ()


@dataclass(frozen=True)
class ReproDetails:
    """What is measured on a repro; what there was no time for is empty."""

    ablation: tuple[RungRow, ...] = ()
    culprit: CulpritSection | None = None
    neighbours: tuple[NeighbourResult, ...] = ()
    measured: PicturesAndTest | None = None
    #: what eager mode says of the program, where it rejects it: class and first line
    eager_error: str | None = None
    #: a row for each interpreter in which the repro passes
    differs_from: tuple[ContrastSection, ...] = ()


@dataclass(frozen=True)
class SearchResult:
    """What the search for the smallest program knows beside it.

    Attributes:
        history: (candidates settled, tensor operations, lines), each time the program got smaller.
        others: failures of other sorts that fresh processes showed.
        unverified: all those that a candidate showed, if only in a warm worker.
        different: how a whole model differs from stock layers.
        numbers_left: the numbers of the private program without which the failure is not there.
    """

    counts: Counts
    history: tuple[tuple[int, int, int], ...] = ()
    others: tuple[OtherFailure, ...] = ()
    unverified: tuple[OtherFailure, ...] = ()
    different: Difference | None = None
    numbers_left: tuple[float, ...] = ()


@dataclass(frozen=True)
class BuiltRepro:
    """A reduced repro, what fresh processes showed of its text, how it was reached, and what was
    measured on it.

    `summary` is the sentence of the verdict.
    """

    candidate: Candidate
    program: PlainRepro
    cold: FreshAnswers
    search: SearchResult
    details: ReproDetails
    summary: str


@dataclass(frozen=True)
class RunResult:
    """How a run ended: the report document, the exit code, the last words on the terminal, with
    `last_screen` as tables, and the folder.
    """

    report: Report
    exit_code: int
    lines: tuple[str, ...]
    folder: Path | None = None
    last_screen: Summary | None = None

    def to_json(self) -> Json:
        """The document of report.json."""
        return self.report.to_json()

    def summarize(self) -> list[str]:
        """What a person reads at the end."""
        return list(self.lines)

    def build_tables(self) -> list[Table]:
        """The same for a terminal; nothing where lines say it as well."""
        return list(self.last_screen.build_tables()) if self.last_screen else []
