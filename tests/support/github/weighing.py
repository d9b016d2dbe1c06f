"""What the ranking of duplicates is measured on: rows of data/duplicates.json, each once as a
report of ours and once as an issue.

A row has the fields of a real issue of pytorch/pytorch, in our words: the calls of its program, the
lines of its error, its labels. Rows of one `family` are the same bug by what its maintainers or
authors said; where that is `unsure` the pair counts neither way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reporter.report.labels import LabelGrounds, choose_labels
from reporter.store.reports import StoredReport
from reporter.tracker.failure_facts import FailureFacts, ReportedFailure
from reporter.tracker.weighing import LIKELY, WEIGHTS, Weights, weigh
from tests.support.places import DATA

ROWS: list[dict[str, Any]] = json.loads((DATA / "duplicates.json").read_text())
#: What stands in every issue, and must not count.
_FORM = """### 🐛 Describe the bug

The function gives another result or an error when it is compiled; eager mode works. Here is the code to reproduce:

```python
import torch
{code}
```

### Versions

PyTorch version: 2.11.0+cpu
Is debug build: False
OS: Ubuntu 22.04.4 LTS (x86_64)
GCC version: (Ubuntu 11.4.0) 11.4.0
Python version: 3.11.7 (main) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: False
CPU: Architecture: x86_64, Byte Order: Little Endian, Vulnerability Meltdown: Not affected
Versions of relevant libraries: numpy==1.26.4, torch==2.11.0, triton==3.1.0
"""
_LOG = """
Traceback (most recent call last):
  File "torch/_dynamo/eval_frame.py", line 574, in _fn
  File "torch/_dynamo/convert_frame.py", line 1380, in __call__
  File "torch/_dynamo/output_graph.py", line 1465, in call_user_compiler
  File "torch/_inductor/compile_fx.py", line 1742, in compile_fx
  File "torch/_functorch/aot_autograd.py", line 830, in _create_aot_dispatcher_function
  File "torch/_inductor/graph.py", line 1147, in call_function
"""


def text(row: dict[str, Any]) -> str:
    """The issue's body: what the row says, in the form that everybody fills in."""
    log = _LOG if row["kind"] == "crash" else ""
    return _FORM.format(code=row["says"] + log)


def reported(row: dict[str, Any]) -> ReportedFailure:
    """The row as a report of ours."""
    facts = FailureFacts(
        row.get("exception") or row.get("signal") or "",
        row.get("message") or "",
        tuple(row["operators"]),
        (row["layer"], row.get("exception", ""), *row.get("frames", ())),
    )
    name = f"{row['issue']}{row['title']}"
    stored = StoredReport(name, "", "", row["title"], row["kind"], row["layer"], "", "", "2.13", "")
    grounds = LabelGrounds(signal=row.get("signal"))
    asked = choose_labels(row["kind"], row["layer"], True, grounds)
    return ReportedFailure(facts, tuple(asked), stored)


@dataclass(frozen=True)
class Pair:
    """A report and an issue, what they are to each other, and how the ranking weighs it."""

    report: dict[str, Any]
    issue: dict[str, Any]
    same: bool
    score: float
    reasons: tuple[str, ...]

    @property
    def is_likely(self) -> bool:
        return self.score >= LIKELY


def pairs(weights: Weights = WEIGHTS) -> Iterator[Pair]:
    """All pairs of two rows but the unsure ones."""
    for row in ROWS:
        sent = reported(row)
        for other in ROWS:
            if other is row or _unsure(row, other):
                continue
            score, reasons = weigh(sent, other["title"], text(other), other["labels"], weights)
            same = bool(row["family"]) and row["family"] == other["family"]
            yield Pair(row, other, same, score, tuple(reasons))


def _unsure(row: dict[str, Any], other: dict[str, Any]) -> bool:
    families = [{item["family"], *item.get("unsure", ())} - {""} for item in (row, other)]
    certain = row["family"] and row["family"] == other["family"]
    return bool(families[0] & families[1]) and not certain


@dataclass(frozen=True)
class MeasuredRepro:
    """`precision` and `recall` of what is called likely; `shown`: of the duplicates, those among
    the five that are shown; `first`: of the reports that have a duplicate, those that list one
    first.
    """

    precision: float
    recall: float
    shown: float
    first: float
    same: int
    others: int


def measure(found: list[Pair], shown: int = 5, least: float = 0.15) -> MeasuredRepro:
    """Of pairs with their scores."""
    same = [pair for pair in found if pair.same]
    likely = [pair for pair in found if pair.is_likely]
    by_report: dict[str, list[Pair]] = {}
    for pair in found:
        by_report.setdefault(f"{pair.report['issue']}{pair.report['title']}", []).append(pair)
    in_list = first = with_one = 0
    for several in by_report.values():
        ranked = sorted((p for p in several if p.score > least), key=lambda p: -p.score)
        in_list += sum(pair.same for pair in ranked[:shown])
        if any(pair.same for pair in several):
            with_one += 1
            first += bool(ranked) and ranked[0].same
    return MeasuredRepro(
        sum(pair.same for pair in likely) / max(1, len(likely)),
        sum(pair.same for pair in likely) / len(same),
        in_list / len(same),
        first / with_one,
        len(same),
        len(found) - len(same),
    )
