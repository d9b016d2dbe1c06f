"""The neighbouring releases in a finished report: of one the repro is right, of the next it fails.

The report is written before; whatever goes wrong here costs a line, never the report.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from packaging.version import Version

from reporter.bisect.arguments import BisectArguments
from reporter.bisect.bisect import bisect
from reporter.check.engine import Engine
from reporter.core.errors import BugreportError
from reporter.core.settings import Options
from reporter.environments.release import public
from reporter.publish.rerender import with_checks
from reporter.publish.result import RunResult
from reporter.report.sections import Report, read_report


def name_neighbours(result: RunResult, options: Options, engine: Engine | None = None) -> RunResult:
    """The result of `create --bisect`, with the releases between which the failure came, or went.

    The search begins at what the report knows of other releases, else at the oldest one.
    """
    if not options.bisect or result.folder is None:
        return result
    folder = str(result.folder)
    note: tuple[str, ...]
    try:
        found = bisect(_request(folder, result.report), options, engine)
        note = (*found.summary_lines(), *with_checks((folder,)))
    except (BugreportError, OSError) as error:
        note = (f"note: no neighbouring releases are known: {error}",)
    path = Path(folder) / "report.json"
    report = read_report(json.loads(path.read_text(encoding="utf-8")), folder)
    return replace(result, report=report, lines=(*result.lines, *note))


def _request(folder: str, report: Report) -> BisectArguments:
    """The shortest search that the report's own rows allow: where it broke, if an earlier release
    is right, else where it was fixed, if a later one is.
    """
    own = Version(public(report.torch))
    seen = {Version(public(row.torch)): row.outcome for row in report.releases or ()}
    right = sorted(version for version, outcome in seen.items() if outcome == "fixed")
    fails = sorted({own, *(version for version in seen if seen[version] == "reproduces")})
    before = [version for version in right if version < own]
    after = [version for version in right if version > own]
    if not before and after:
        bad = max(version for version in fails if version < after[0])
        return BisectArguments(folder, str(after[0]), str(bad), find_fix=True)
    good = before[-1] if before else None
    bad = min(version for version in fails if good is None or version > good)
    return BisectArguments(folder, str(good) if good else None, str(bad))
