"""On which releases a finished report's repro fails: the question that maintainers ask first.

The report is written before; whatever goes wrong here costs a line, never the report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from reporter.check.arguments import CheckArguments
from reporter.check.check import check
from reporter.core.errors import BugreportError
from reporter.core.settings import TalkOptions, WorkOptions
from reporter.environments.cache_folder import find_cache_folder
from reporter.environments.environments import Environments
from reporter.environments.release import strip_local_part
from reporter.environments.selection import Selection
from reporter.publish.rerendering import update_checks
from reporter.publish.result import RunResult
from reporter.report.reading import load_report

#: The word of `--releases` that asks for none.
_NOWHERE = "none"


def try_releases(
    result: RunResult, releases: tuple[str, ...], work: WorkOptions, talk: TalkOptions
) -> RunResult:
    """The result of `create`, with what its repro does on other releases.

    Args:
        releases: are installed where that is needed; none: the environments that are cached, so
            that nothing is downloaded unasked. The one word `none`: none at all.

    Returns:
        `result` itself where nothing was tried: without a report, and in a hurry.
    """
    is_in_a_hurry = work.quick or work.budget > 0 and not releases
    if result.folder is None or is_in_a_hurry or releases == (_NOWHERE,):
        return result
    selection = _build_selection(result.report.torch, releases)
    if selection is None:
        return result
    asked = CheckArguments(repros=(str(result.folder),))
    return add_releases(
        result,
        result.folder,
        lambda: check(asked, selection, work, talk).summarize(),
        "the other releases were not tried",
    )


def list_installed_ahead(releases: tuple[str, ...], work: WorkOptions) -> tuple[str, ...]:
    """Those of the `releases` that `try_releases` will ask for, come what may; they can be
    installed while the report is made.
    """
    return () if work.quick or releases == (_NOWHERE,) else releases


def add_releases(
    result: RunResult, folder: Path, ask: Callable[[], list[str]], trouble: str
) -> RunResult:
    """The result with what `ask` finds out of other releases, which its report then knows.

    Args:
        ask: checks the repro, and returns what is said of that.
        trouble: says what is missing where that fails.
    """
    note: tuple[str, ...]
    try:
        note = (*ask(), *update_checks((str(folder),)))
    except (BugreportError, OSError) as error:
        note = (f"note: {trouble}: {error}",)
    report = load_report(folder) or result.report
    return replace(result, report=report, lines=(*result.lines, *note))


def _build_selection(own: str, releases: tuple[str, ...]) -> Selection | None:
    if releases:
        return Selection(torch=releases)
    cached = [item for item in Environments(find_cache_folder()).list_all() if item.is_whole]
    others = tuple(
        item.release for item in cached if strip_local_part(item.torch) != strip_local_part(own)
    )
    return Selection(releases=others) if others else None
