"""What `check` was asked for becomes a selection, an engine and files; options that contradict each
other are refused first.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from reporter.check import results
from reporter.check.arguments import CheckArguments, Executor
from reporter.check.check import check
from reporter.check.cluster import Cluster
from reporter.check.engine import Engine
from reporter.check.github_notifier import notify_issues, refuse_early
from reporter.check.results import CheckSummary
from reporter.check.shards import merge
from reporter.core.atomic import write_atomically
from reporter.core.errors import UsageError
from reporter.core.settings import InterpreterOptions, ProcessOptions, TalkOptions
from reporter.environments.selection import Selection
from reporter.publish.rerendering import update_checks
from reporter.tracker.preview import Prompt
from reporter.tracker.repository import resolve_issue


def serve(
    asked: CheckArguments,
    usual: InterpreterOptions,
    processes: ProcessOptions,
    talk: TalkOptions,
    user: Prompt,
) -> CheckSummary:
    """Check, or put shards together, write the files that were asked for, and tell issues what is
    news.

    Args:
        asked: the options of `check`; with `merge` its `repros` are files of results.
        usual: the interpreter that is checked where neither a release nor an interpreter is named.
        processes: what each run may take: seconds, and GiB.
        user: is asked before an issue's program runs without a sandbox, and before comments leave.

    Raises:
        BugreportError: options that contradict each other, nothing to check, or nobody to ask.
    """
    _refuse_contradictions(asked)
    if asked.comment:
        refuse_early(user, asked.yes, _list_addresses(asked))
    for path in (asked.markdown, asked.html, asked.results):
        _refuse_unwritable(path)
    if asked.merge:
        checked = merge([Path(name) for name in asked.repros])
    else:
        selection = Selection(asked.torch, asked.python, asked.index, asked.backend, usual=usual)
        checked = check(asked, selection, processes, talk, user, _choose_engine(asked, processes))
    _write(asked, checked)

    notes = (*checked.notes, *update_checks(asked.repros))
    checked = replace(checked, notes=notes, bisecting=asked.exit_code)
    return _notify(checked, user, asked.yes) if asked.comment else checked


def _notify(checked: CheckSummary, user: Prompt, is_sure: bool) -> CheckSummary:
    """The same with what issues were told; the exit code stays that of the check."""

    told = tuple(notify_issues(checked.results, user, is_sure))
    notes = (*checked.notes, *(item.describe() for item in told))
    return replace(checked, told=told, notes=notes)


def _refuse_contradictions(asked: CheckArguments) -> None:
    if asked.yes and not asked.comment:
        raise UsageError("--yes is for --comment; leave it out")
    if asked.exit_code and (asked.skip_known or asked.merge):
        raise UsageError(
            "--exit-code runs the repro at once, and --skip-known and --merge do not; leave them"
            " out"
        )
    if asked.skip_known and asked.fresh:
        raise UsageError(
            "--skip-known believes what was seen and --fresh does not; give one of them"
        )
    if asked.merge and (asked.shard or asked.all or asked.torch or asked.python):
        raise UsageError(
            "--merge puts results together, and --shard, --all, --torch and --python say what is"
            " checked; leave them out"
        )
    if not asked.repros and not asked.all:
        what = "result files" if asked.merge else "a repro file or a report folder, or use --all"
        raise UsageError(f"nothing was given to check; name {what}")
    if (_read_executor(asked.executor) == Executor.DASK) != (asked.scheduler is not None):
        raise UsageError(
            "--executor dask and --scheduler tcp://HOST:PORT go together; give both or neither"
        )


def _read_executor(word: str) -> Executor:
    try:
        return Executor(word)
    except ValueError:
        raise UsageError(f"--executor is {word!r}, but must be local or dask") from None


def _list_addresses(asked: CheckArguments) -> list[str]:
    """The issues that are named on the command line."""
    found = map(resolve_issue, asked.repros)
    return [str(address) for address in found if address is not None]


def _choose_engine(asked: CheckArguments, processes: ProcessOptions) -> Engine | None:
    """The engine that was named; None is this machine's."""
    if asked.scheduler is None:
        return None

    return Cluster(asked.scheduler, processes)


def _refuse_unwritable(path: Path | None) -> None:
    """An output that cannot be written is refused before the work, not after it."""
    if path is None:
        return
    folder = Path(os.path.realpath(path)).parent
    if path.is_dir() or not folder.is_dir():
        raise UsageError(
            f"{path} cannot be written (there is no such folder); name a file in one that exists"
        )
    # an ordinary file is replaced by another one of its folder
    is_special = path.exists() and not path.is_file()
    if not os.access(path if is_special else folder, os.W_OK):
        raise UsageError(f"{path} cannot be written (permission denied); name another file")


def _write(asked: CheckArguments, checked: CheckSummary) -> None:
    if asked.markdown is not None:
        _put(asked.markdown, results.render_markdown(checked))
    if asked.html is not None:
        _put(asked.html, results.render_html(checked))
    if asked.results is not None:
        _put(asked.results, json.dumps(checked.to_json(), indent=1) + "\n")


def _put(path: Path, text: str) -> None:
    """Write whole or not at all."""
    try:
        write_atomically(path, text)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror}); the results are in the store, name"
            " another file"
        ) from None
