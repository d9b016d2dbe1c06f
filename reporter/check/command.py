"""What `check` was asked for becomes a request, an engine and files; options that contradict each
other are refused first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reporter.check import results
from reporter.check.check import CheckMode, CheckRequest, check
from reporter.check.cluster import Cluster
from reporter.check.engine import Engine
from reporter.check.notify import notify_issues, refuse_early
from reporter.check.results import CheckSummary
from reporter.check.shards import merge
from reporter.core.arguments import take_group
from reporter.core.atomic import write_atomically
from reporter.core.errors import UsageError
from reporter.core.settings import Options
from reporter.environments.selection import Selection
from reporter.publish.rerender import with_checks
from reporter.tracker.preview import Prompt
from reporter.tracker.repository import parse_issue


@dataclass(frozen=True)
class CheckSelection:
    """What is checked, and where."""

    repros: tuple[str, ...] = ()
    all: bool = False
    torch: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    index: str | None = None
    backend: str | None = None


@dataclass(frozen=True)
class CheckDivision:
    """Who does the work, and which part of it; `merge` puts the results of parts together."""

    shard: str | None = None
    merge: bool = False
    executor: str = "local"
    scheduler: str | None = None


@dataclass(frozen=True)
class CheckOutputs:
    """The files that are written, and whether issues are told."""

    markdown: Path | None = None
    html: Path | None = None
    results: Path | None = None
    comment: bool = False
    yes: bool = False


@dataclass(frozen=True)
class CheckArguments:
    """The command line of `check`."""

    selection: CheckSelection
    mode: CheckMode
    division: CheckDivision
    outputs: CheckOutputs

    @classmethod
    def of(cls, words: Mapping[str, Any]) -> CheckArguments:
        """The options that were given, by the names of the groups' fields."""
        return cls(
            take_group(CheckSelection, words),
            take_group(CheckMode, words),
            take_group(CheckDivision, words),
            take_group(CheckOutputs, words),
        )


def run(asked: CheckArguments, options: Options, user: Prompt) -> CheckSummary:
    """Check, or put shards together, write the files that were asked for, and tell issues what is
    news. Raises BugreportError.
    """
    _refuse_contradictions(asked)
    if asked.outputs.comment:
        refuse_early(user, asked.outputs.yes, _addresses(asked))
    for path in (asked.outputs.markdown, asked.outputs.html, asked.outputs.results):
        _refuse_unwritable(path)
    if asked.division.merge:
        checked = merge([Path(name) for name in asked.selection.repros])
    else:
        what = asked.selection
        request = CheckRequest(
            what.repros,
            Selection(what.torch, what.python, what.index, what.backend),
            what.all,
            asked.mode,
            _shard(asked.division.shard),
            user,
        )
        checked = check(request, options, _engine(asked, options))
    _write(asked, checked)

    notes = (*checked.notes, *with_checks(asked.selection.repros))
    checked = replace(checked, notes=notes, bisecting=asked.mode.exit_code)
    return _notify(checked, user, asked.outputs.yes) if asked.outputs.comment else checked


def _notify(checked: CheckSummary, user: Prompt, is_sure: bool) -> CheckSummary:
    """The same with what issues were told; the exit code stays that of the check."""

    told = tuple(notify_issues(checked.results, user, is_sure))
    notes = (*checked.notes, *(item.line() for item in told))
    return replace(checked, told=told, notes=notes)


def _refuse_contradictions(asked: CheckArguments) -> None:
    if asked.outputs.yes and not asked.outputs.comment:
        raise UsageError("--yes is for --comment; leave it out")
    if asked.mode.exit_code and (asked.mode.skip_known or asked.division.merge):
        raise UsageError(
            "--exit-code runs the repro at once, and --skip-known and --merge do not; leave them"
            " out"
        )
    if asked.mode.skip_known and asked.mode.fresh:
        raise UsageError(
            "--skip-known believes what was seen and --fresh does not; give one of them"
        )
    if not asked.selection.repros and not asked.selection.all:
        what = (
            "result files"
            if asked.division.merge
            else "a repro file or a report folder, or use --all"
        )
        raise UsageError(f"nothing was given to check; name {what}")
    if asked.division.executor not in ("local", "dask"):
        raise UsageError(f"--executor is {asked.division.executor!r}, but must be local or dask")
    if (asked.division.executor == "dask") != (asked.division.scheduler is not None):
        raise UsageError(
            "--executor dask and --scheduler tcp://HOST:PORT go together; give both or neither"
        )


def _addresses(asked: CheckArguments) -> list[str]:
    """The issues that are named on the command line."""
    found = (parse_issue(name) for name in asked.selection.repros if not Path(name).exists())
    return [str(address) for address in found if address is not None]


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    number, count = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    if not 1 <= number <= count:
        raise UsageError(f"--shard is {text!r}, but must be I/N with I from 1 to N, such as 2/8")
    return number, count


def _engine(asked: CheckArguments, options: Options) -> Engine | None:
    """The engine that was named; None is this machine's."""
    if asked.division.scheduler is None:
        return None

    return Cluster(asked.division.scheduler, options)


def _refuse_unwritable(path: Path | None) -> None:
    """An output that cannot be written is refused before the work, not after it."""
    if path is None:
        return
    folder = path.absolute().parent
    if path.is_dir() or not folder.is_dir():
        raise UsageError(
            f"{path} cannot be written (there is no such folder); name a file in one that exists"
        )


def _write(asked: CheckArguments, checked: CheckSummary) -> None:
    if asked.outputs.markdown is not None:
        _put(asked.outputs.markdown, results.markdown(checked))
    if asked.outputs.html is not None:
        _put(asked.outputs.html, results.html(checked))
    if asked.outputs.results is not None:
        _put(asked.outputs.results, json.dumps(checked.to_json(), indent=1) + "\n")


def _put(path: Path, text: str) -> None:
    """Write whole or not at all."""
    try:
        write_atomically(path, text)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror}); the results are in the store, name"
            " another file"
        ) from None
