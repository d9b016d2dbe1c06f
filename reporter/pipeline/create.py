"""`create`, `anonymize` and `diagnose`: one program through all stages.

    record → diagnose → capture → reduce → verify → measure → leak check → publish

Two kinds of program go through the same stages: the calls that a script compiles with torch
(`torch_program`), and Triton kernels that a script defines itself (`triton_program`). For the
former each stage is the module of its name beside this one; leak check and publish are
`reporter.publish.report_files`. Whatever was captured before an interruption stays in `private/`
of the output folder, where `--resume` finds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, TypeVar

from reporter.core.errors import CannotJudgeError, Interruption
from reporter.core.settings import Options
from reporter.execution import usage
from reporter.pipeline.run import Run, open_run
from reporter.pipeline.torch_program import TorchProgram, attach_program
from reporter.pipeline.triton_program import TritonProgram
from reporter.publish import form
from reporter.publish.report_files import Outgoing, publish
from reporter.publish.result import NO_BUG, RunResult
from reporter.recording.attached_session import AttachedSession
from reporter.recording.entry_points import check_early
from reporter.report.folder import RECORDING
from reporter.report.output_folder import choose_output


def create(options: Options, as_whole: bool = False) -> RunResult:
    """Everything up to the report folder.

    Exit code 0: a report was written; 1: no bug; 125: a bug without a repro.

    Raises:
        BugreportError: nothing can be said; its class has the exit code.
    """
    check_early(options)
    with choose_output(options) as output:
        form.check_form(options)
        return _run(options, output, as_whole)


def anonymize(options: Options) -> RunResult:
    """Like `create`, but the whole model, not reduced, and proved to be equivalent.

    Raises:
        BugreportError: as `create` does.
    """
    return create(options, as_whole=True)


def diagnose(options: Options) -> RunResult:
    """The verdict alone. Exit code 0: a bug; 1: none.

    Raises:
        BugreportError: there is no verdict; its class has the exit code.
    """
    return _run(options, None)


def _run(options: Options, output: Path | None, as_whole: bool = False) -> RunResult:
    """The result, and for who asked for it what each stage used."""
    with attach_program(options, options.timeout) as seen:
        nothing = seen.report_nothing_found() if seen is not None else None
        if nothing is not None:
            return RunResult(nothing, NO_BUG, ())
        with open_run(options, output, as_whole) as run:
            result = _find_first_result(run, seen)
            for line in usage.render_usage(run.progress.collect_rows()) if options.verbose else ():
                run.progress.note(line)
            return result


def _find_first_result(run: Run, seen: AttachedSession | None) -> RunResult:
    """The result for the first kind of program that has something to say."""
    if TritonProgram.fits(run):
        found = go_through_stages(TritonProgram(run), run)
        if found is not None:
            return found
    with TorchProgram(run, seen) as program:
        result = _run_resumable(program, run)
        assert result is not None
        return result


def _run_resumable(program: TorchProgram, run: Run) -> RunResult | None:
    """All stages; whoever interrupts them is told how to go on."""
    try:
        return go_through_stages(program, run)
    except KeyboardInterrupt:
        if run.goal.output is not None and (run.goal.private / RECORDING).exists():
            raise Interruption(f"interrupted; go on with `{run.goal.way_to_resume}`") from None
        raise


class Capture(Protocol):
    """All that candidates are made from, with the verdict."""

    @property
    def is_bug(self) -> bool:
        """Whether there is something to report."""


Recorded = TypeVar("Recorded")  # a recorded program
Diagnosed = TypeVar("Diagnosed")  # its diagnosis
Captured = TypeVar("Captured", bound=Capture)
Reduced = TypeVar("Reduced")  # the smallest candidate
Verified = TypeVar("Verified")  # the same, verified in fresh processes
Measured = TypeVar("Measured")  # with all that was measured on it


class Program(Protocol[Recorded, Diagnosed, Captured, Reduced, Verified, Measured]):
    """A program under examination; each stage takes what the one before it returned."""

    def resume(self) -> Captured | None:
        """What an interrupted run had captured."""

    def record(self) -> Recorded | None:
        """Runs the program, watched; None where there is nothing of this kind in it."""

    def diagnose(self, recorded: Recorded) -> Diagnosed | None:
        """The verdict; None where another kind of program may be at fault."""

    def capture(self, diagnosed: Diagnosed) -> Captured:
        """All that candidates are made from; the program is not needed afterwards."""

    def reduce(self, captured: Captured) -> Reduced:
        """The smallest public program that fails in the same way.

        Raises:
            CannotJudgeError: there is none.
        """

    def verify(self, reduced: Reduced) -> Verified:
        """The final text in fresh processes.

        Raises:
            CannotJudgeError: none shows the failure.
        """

    def measure(self, verified: Verified) -> Measured:
        """What the report says beside the repro, measured on the final text."""

    def check_leaks(self, measured: Measured) -> Outgoing:
        """The documents, searched for private words.

        Raises:
            LeakError: one of them was found.
        """

    def conclude(self, captured: Captured, reason: CannotJudgeError | None = None) -> RunResult:
        """The verdict alone: no bug, no repro wanted, or none for a `reason`."""


def go_through_stages(
    program: Program[Recorded, Diagnosed, Captured, Reduced, Verified, Measured], run: Run
) -> RunResult | None:
    """One program from its recording to its report; None where it has nothing to say."""
    captured = program.resume()
    if captured is None:
        recorded = program.record()
        diagnosed = program.diagnose(recorded) if recorded is not None else None
        if diagnosed is None:
            return None
        captured = program.capture(diagnosed)
    if not captured.is_bug or run.goal.output is None:
        return program.conclude(captured)
    try:
        measured = program.measure(program.verify(program.reduce(captured)))
    except CannotJudgeError as reason:
        return program.conclude(captured, reason)
    return publish(program.check_leaks(measured), overwrite=run.options.force)
