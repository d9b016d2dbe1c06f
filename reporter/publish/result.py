"""What a run hands over for publication: the reduced repro with what was measured of it, and how
the run ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reporter.core.answer import Answer
from reporter.core.candidate import Candidate
from reporter.core.plain import Json
from reporter.core.signature import Signature
from reporter.publish.summary import Summary
from reporter.reduce.other_failures import Other
from reporter.reduce.scheduler import Counts
from reporter.report.sections import (
    CulpritSection,
    PictureSection,
    Report,
    RungRow,
    TestSection,
)
from reporter.verify.neighbours import NeighbourResult
from reporter.whole_model.source_model import Difference

if TYPE_CHECKING:
    from rich.table import Table

#: Files and folders below `private/` that a resumed run or the owner of the program finds again.
RECORDING = "recording.json"
JOURNAL = "journal.jsonl"
EVIDENCE = "evidence"
#: Exit code of `create` and `diagnose` where there is nothing to report.
NO_BUG = 1


@dataclass(frozen=True)
class Measurements:
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
class BuiltRepro:
    """A reduced repro: its formatted text, what fresh processes showed of it, and how it was
    reached.
    """

    candidate: Candidate
    text: str
    harness: str
    signature: Signature
    cold: tuple[Answer, ...]
    reproduced: tuple[int, int]
    ablation: tuple[RungRow, ...]
    culprit: CulpritSection | None
    counts: Counts
    others: tuple[Other, ...]
    unverified: tuple[Other, ...]
    differs_from: tuple[Json, ...] = ()
    different: Difference | None = None
    #: Candidates settled, tensor operations and lines, each time the program got smaller.
    history: tuple[tuple[int, int, int], ...] = ()
    summary: str = ""
    measured: Measurements | None = None
    neighbours: tuple[NeighbourResult, ...] = ()
    #: Numbers of the private program without which the failure is not there.
    numbers_left: tuple[float, ...] = ()


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

    def summary_lines(self) -> list[str]:
        """What a person reads at the end."""
        return list(self.lines)

    def tables(self) -> list[Table]:
        """The same for a terminal; nothing where lines say it as well."""
        return list(self.last_screen.tables()) if self.last_screen else []
