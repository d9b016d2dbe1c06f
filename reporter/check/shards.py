"""Shards share nothing but the question; what each has found is a file, and files are put together
in any order.

A cell counts once however many files have it: a result beats none, a judgment beats
`cannot_judge`, and of two judgments the later one counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from reporter.check.results import CheckSummary, OutcomeChange
from reporter.check.work import CheckResult
from reporter.core.errors import UsageError
from reporter.core.kinds import CheckOutcome
from reporter.report.sections.base import build_section


def merge(files: Sequence[Path]) -> CheckSummary:
    """What all files say together, repro by repro in the order in which the files name them.

    Raises:
        UsageError: a file cannot be read, or holds no results.
    """
    read = [_read(path) for path in files]
    best: dict[tuple[str, str], CheckResult] = {}
    for check in (check for checks, _ in read for check in checks):
        known = best.get(check.cell)
        if known is None or _rank(check) > _rank(known):
            best[check.cell] = check
    changed = {change.check.cell: change for _, changes in read for change in changes}
    return CheckSummary(tuple(_sort(best.values())), tuple(changed.values()))


def _rank(check: CheckResult) -> tuple[bool, str]:
    return check.outcome != CheckOutcome.CANNOT_JUDGE, check.time


def _sort(checks: Iterable[CheckResult]) -> list[CheckResult]:
    checks = list(checks)
    repros = list(dict.fromkeys(check.key for check in checks))
    releases = list(dict.fromkeys(check.release for check in checks))
    return sorted(checks, key=lambda c: (repros.index(c.key), releases.index(c.release)))


def _read(path: Path) -> tuple[list[CheckResult], list[OutcomeChange]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        checks = [build_section(CheckResult, row) for row in document["results"]]
        known = {check.cell: check for check in checks}
        changes = [
            OutcomeChange(CheckOutcome(row["before"]), known[row["key"], row["release"]])
            for row in document.get("changes", ())
        ]
        return checks, changes
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}); give the files that --results wrote"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path} is no result file; give the files that --results wrote") from None
