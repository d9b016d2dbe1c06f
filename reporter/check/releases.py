"""On which releases a finished report's repro fails: the question that maintainers ask first.

The report is written before; whatever goes wrong here costs a line, never the report.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from reporter.check.check import CheckRequest, check
from reporter.core.errors import BugreportError
from reporter.core.settings import Options
from reporter.environments.environments import Environments, cache_folder
from reporter.environments.release import public
from reporter.environments.selection import Selection
from reporter.publish.rerender import with_checks
from reporter.publish.result import RunResult
from reporter.report.sections import Report, read_report

#: The word of `--releases` that asks for none.
NOWHERE = "none"


def try_releases(result: RunResult, options: Options) -> RunResult:
    """The result of `create`, with what its repro does on other releases.

    Those of `options.releases` are installed where that is needed; without any it is tried in the
    environments that are cached. Nothing is downloaded unasked.
    """
    is_in_a_hurry = options.quick or options.budget > 0 and not options.releases
    if result.folder is None or is_in_a_hurry or options.releases == (NOWHERE,):
        return result
    selection = _selection(result.report.torch, options)
    if selection is None:
        return result
    note: tuple[str, ...]
    try:
        checked = check(CheckRequest((str(result.folder),), selection), options)
        note = (*checked.summary_lines(), *with_checks((str(result.folder),)))
    except (BugreportError, OSError) as error:
        note = (f"note: the other releases were not tried: {error}",)
    return replace(result, report=_need_report(result), lines=(*result.lines, *note))


def _selection(own: str, options: Options) -> Selection | None:
    if options.releases:
        return Selection(torch=options.releases)
    cached = [item for item in Environments(cache_folder()).all() if item.is_whole]
    others = tuple(item.release for item in cached if public(item.torch) != public(own))
    return Selection(releases=others) if others else None


def _need_report(result: RunResult) -> Report:
    assert result.folder is not None
    path = Path(result.folder) / "report.json"
    return read_report(json.loads(path.read_text(encoding="utf-8")), str(result.folder))
