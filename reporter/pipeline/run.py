"""One run of a command on one program: what it was asked for, and where its stages get their
parts.
"""

from __future__ import annotations

import contextlib
import functools
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from reporter.core.errors import UsageError
from reporter.core.progress import open_progress
from reporter.core.settings import Options, WorkOptions
from reporter.diagnose.rungs import RUNGS
from reporter.execution import interpreter
from reporter.execution.interpreter import InterpreterInfo
from reporter.execution.usage import MeteredProgress
from reporter.pipeline.budget import Budget
from reporter.pipeline.record import watch_script
from reporter.publish.report_files import Destination, RunUsage
from reporter.recording.entry_points import resolve_entry_point
from reporter.recording.watched_script import WatchedScript
from reporter.report.captured_call import CapturedCall
from reporter.report.folder import PRIVATE, RECORDING, UNFINISHED, find_private_folder

#: So many fresh processes are to show the failure of a program before it is reported.
FRESH_PROCESSES = 3


@dataclass(frozen=True)
class Interpreters:
    """The interpreter of the program, and those that its repro has to pass in."""

    own: InterpreterInfo
    others: tuple[InterpreterInfo, ...] = ()


@dataclass(frozen=True)
class Goal:
    """What a run is for.

    `output` is the absolute path of the report folder, None where only a verdict is wanted. With
    `as_whole` the report is of the whole model. `resumed` is what an interrupted run had captured.
    """

    output: Path | None = None
    as_whole: bool = False
    resumed: CapturedCall | None = None

    @functools.cached_property
    def private(self) -> Path:
        """Where the run keeps what stays until there is a report; only of one that wants one."""
        assert self.output is not None
        return find_private_folder(self.output)

    @property
    def way_to_resume(self) -> str:
        """The command that goes on where the run was interrupted."""
        assert self.output is not None
        words = ["bugreport", "create", "--resume", str(self.output)]
        is_replaced = self.private.name == UNFINISHED
        return shlex.join([*words, "--force"] if is_replaced else words)


@dataclass(frozen=True)
class Run:
    """What the stages are given from: each gets the part that it needs.

    `options` is what the user asked for. `folder` holds working files and goes away with the run.
    """

    options: Options
    interpreters: Interpreters
    goal: Goal
    budget: Budget
    progress: MeteredProgress
    folder: Path

    @property
    def say(self) -> Callable[[str], None]:
        """Notes what only a verbose run says."""
        return self.progress.note if self.options.verbose else lambda _: None

    def watch_script(self) -> WatchedScript:
        """The program, which has its share of the time that is left."""
        python = self.interpreters.own.path
        return watch_script(self.options, python, self.folder, self.progress, self.budget)

    def begin_leak_check(self, not_measured: tuple[str, ...]) -> Destination:
        """Where the report goes, which is searched for private words now."""
        output = self.goal.output
        assert output is not None
        self.progress.begin_stage("leak check", "every outgoing byte against the private program")
        used = RunUsage(self.budget.elapsed, self.progress.collect_rows(), not_measured)
        return Destination(
            self.options, self.options.cwd, self.interpreters.own, output=output, used=used
        )


@contextlib.contextmanager
def open_run(options: Options, output: Path | None, as_whole: bool = False) -> Iterator[Run]:
    """A run with its working folder and its display.

    Args:
        output: absolute path of the report folder; None: only a verdict is wanted.
        as_whole: the report is of the whole model, not reduced.

    Raises:
        UsageError: an option cannot be used, or there is no recording to go on with.
    """
    started = time.monotonic()
    is_resumed = output is not None and options.resume
    resumed = CapturedCall.load(_find_recording(output)) if output and is_resumed else None
    others: tuple[InterpreterInfo, ...] = ()
    refuse_other_seed(options, resumed)
    if output is None:
        info = prepare(options)
    else:
        info, others = resolve_interpreters(options, resumed)
    with MeteredProgress(open_progress(options)) as progress, open_working_folder() as name:
        warning = interpreter.check_compiler()
        if warning:
            progress.note(warning)
        yield Run(
            options,
            Interpreters(info, others),
            Goal(output, as_whole, resumed),
            Budget(options.budget, started),
            progress,
            Path(name),
        )


def _find_recording(output: Path) -> Path:
    """That of the interrupted run; of the report, where none was interrupted."""
    unfinished = find_private_folder(output) / RECORDING
    return unfinished if unfinished.exists() else output / PRIVATE / RECORDING


def prepare(options: Options) -> InterpreterInfo:
    """The interpreter to drive, checked, and the script checked with it.

    Raises:
        UsageError: one of them, or a name in --rungs, cannot be used.
    """
    unknown = [name for name in options.rungs if name not in RUNGS]
    if unknown:
        raise UsageError(f"--rungs names {unknown[0]!r}; there are: {', '.join(RUNGS)}")
    python = interpreter.find(options)
    info = interpreter.probe_files(python)
    resolve_entry_point(options, python)
    return info


def open_working_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for working files that goes away with the run."""
    return tempfile.TemporaryDirectory(prefix="bugreport-", ignore_cleanup_errors=True)


def refuse_other_seed(options: WorkOptions, resumed: CapturedCall | None) -> None:
    """Ends a resumed run, which keeps the seed that it began with, where it is asked for another.

    Raises:
        UsageError: it is asked for another.
    """
    assertion = resumed.material.assertion if resumed is not None else None
    if assertion is not None and options.seed not in (0, assertion.seed):
        raise UsageError(
            f"--seed is not that of the interrupted run ({assertion.seed}); give the same again, or"
            " start anew without --resume"
        )


def resolve_interpreters(
    options: Options, resumed: CapturedCall | None
) -> tuple[InterpreterInfo, tuple[InterpreterInfo, ...]]:
    """The script's interpreter and those it has to differ from: a resumed run keeps the ones that
    it began with.

    Raises:
        UsageError: one of them cannot be used, or a resumed run is asked for others.
    """
    if resumed is None:
        info = prepare(options)
        return info, interpreter.probe_others(options, info)
    info = interpreter.probe(Path(resumed.surroundings.python))
    before = tuple(map(Path, resumed.surroundings.differs_from))
    others = interpreter.probe_others(replace(options, differs_from=before), info)
    if options.differs_from:
        asked = interpreter.probe_others(options, info)
        if [item.prefix for item in asked] != [item.prefix for item in others]:
            kept = ", ".join(map(str, before)) or "none"
            raise UsageError(
                f"--differs-from is not that of the interrupted run ({kept}); give the same again,"
                " or start anew without --resume"
            )
    return info, others
