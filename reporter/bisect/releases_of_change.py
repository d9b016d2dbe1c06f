"""The releases of the change in a finished report: on one the repro is right, on the next it fails.

The report is written before; whatever goes wrong here costs a line, never the report.
"""

from __future__ import annotations

from packaging.version import Version

from reporter.bisect.arguments import BisectArguments
from reporter.bisect.bisect import bisect
from reporter.check.engine import Engine
from reporter.check.report_releases import add_releases
from reporter.core.kinds import CheckOutcome
from reporter.core.settings import ProcessOptions, TalkOptions
from reporter.environments.release import strip_local_part
from reporter.publish.result import RunResult
from reporter.report.sections.report_document import Report


def name_releases_of_change(
    result: RunResult,
    processes: ProcessOptions,
    talk: TalkOptions,
    engine: Engine | None = None,
) -> RunResult:
    """The result of `create --bisect`, with the releases between which the failure came, or went.

    The search begins at what the report knows of other releases, else at the oldest one. Where it
    fails, the result has a note that says why.

    Args:
        result: one without a folder comes back as it is.
        processes: what each run may take: seconds, and GiB.
        engine: performs the checks; None: one of this machine, for this search.
    """
    if result.folder is None:
        return result
    asked = _plan_shortest_search(str(result.folder), result.report)
    return add_releases(
        result,
        result.folder,
        lambda: bisect(asked, processes, talk, engine).summarize(),
        "no neighboring releases are known",
    )


def _plan_shortest_search(folder: str, report: Report) -> BisectArguments:
    """The shortest search that the report's own rows allow: where it broke, if an earlier release
    is right, else where it was fixed, if a later one is.
    """
    own = Version(strip_local_part(report.torch))
    seen = {Version(strip_local_part(row.torch)): row.outcome for row in report.releases or ()}
    right = sorted(version for version, outcome in seen.items() if outcome == CheckOutcome.FIXED)
    fails = sorted(
        {own, *(version for version in seen if seen[version] == CheckOutcome.REPRODUCES)}
    )
    before = [version for version in right if version < own]
    after = [version for version in right if version > own]
    if not before and after:
        bad = max(version for version in fails if version < after[0])
        return BisectArguments(folder, str(after[0]), str(bad), find_fix=True)
    good = before[-1] if before else None
    bad = min(version for version in fails if good is None or version > good)
    return BisectArguments(folder, str(good) if good else None, str(bad))
