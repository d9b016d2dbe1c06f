"""The calls that a program compiles with torch, through the stages of `create`."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from anonymizer.graph.repro import ReproAssertion
from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.kinds import INDUCTOR_LAYERS, Backend, Compiler, Kind
from reporter.core.settings import ProgramOptions
from reporter.diagnose.diagnosis import Diagnosis
from reporter.evidence.repro_evidence import (
    ReproEvidence,
    ShownFailure,
    WatchedRun,
    collect_evidence,
)
from reporter.execution.journal import Journal
from reporter.kernels import inductor_kernels
from reporter.pipeline.capture import CapturedProgram, capture_call
from reporter.pipeline.diagnose import DiagnosedRun, diagnose_recording
from reporter.pipeline.early_answer import EarlyAnswer
from reporter.pipeline.measure import Measurement
from reporter.pipeline.optional_measurements import BegunMeasurement, OptionalMeasurements
from reporter.pipeline.record import record_program
from reporter.pipeline.reduce import ProgramSearch, ReducedProgram, SearchNotes
from reporter.pipeline.run import Run
from reporter.pipeline.text_measurements import BegunMeasurements, TextMeasurements
from reporter.pipeline.verify import Verification, VerificationSettings, VerifiedRepro
from reporter.publish.report_files import Outgoing
from reporter.publish.result import NO_BUG, BuiltRepro, RunResult
from reporter.publish.torch_report import build_bare_report, check_torch_report
from reporter.recording.attached_session import AttachedSession, attach
from reporter.recording.findings import Recording
from reporter.reduce.blockwise import look_at_blocks
from reporter.reduce.source_candidates import rename_exception
from reporter.reduce.workers import WorkerSet
from reporter.report.captured_call import CapturedCall
from reporter.report.folder import EVIDENCE, JOURNAL, RECORDING
from reporter.report.sections.triton import GeneratedKernelsSection
from reporter.verify.plain import PlainRepro
from reporter.whole_model.traced_model import describe_equivalence
from templates import charts
from templates.diagnosis import render_ladder, render_verdict

#: Measurements on the final text that are under way together.
_SIDE_BY_SIDE = 4


@contextlib.contextmanager
def attach_program(program: ProgramOptions, timeout: float) -> Iterator[AttachedSession | None]:
    """The recorded program that asked for a report by itself, or None where we start one; its calls
    may take `timeout` seconds each.

    Raises:
        UsageError, CannotJudgeError: as `attach` does.
    """
    folder = program.attach
    session = attach(folder, program.cwd, timeout) if folder is not None else None
    try:
        yield session
    finally:
        if session is not None:
            session.recording.close()


@dataclass(frozen=True)
class MeasuredRepro:
    """The repro with all that was measured of it, what torch's own tools say of its text, and what
    was not measured.
    """

    captured: CapturedCall
    built: BuiltRepro
    tools: ReproEvidence | None
    left_out: tuple[str, ...] = ()


class TorchProgram:
    """A script, a test, a notebook or a program that runs already (`seen`), and its workers.

    A context manager, which ends the workers and the recording.
    """

    def __init__(self, run: Run, seen: AttachedSession | None = None) -> None:
        self.run = run
        self.seen = seen
        self._open = contextlib.ExitStack()
        self.workers = WorkerSet(
            run.options, run.interpreters.own.path, run.folder, run.interpreters.others
        )
        self._open.callback(self.workers.close)

    def __enter__(self) -> TorchProgram:
        if self.run.goal.output is not None:
            self.workers.start()  # they warm up while the script runs
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def resume(self) -> CapturedProgram | None:
        """What the interrupted run had captured."""
        resumed = self.run.goal.resumed
        if resumed is None:
            return None
        self.workers.prepare_for(resumed.device)
        return self._open_report(resumed)

    def record(self) -> Recording:
        """Every compiled call next to eager.

        Raises:
            UsageError: the input cannot be used.
            CannotJudgeError: the program has ended its own watcher.
        """
        seen = self.seen.recording if self.seen is not None else None
        recording = record_program(self.run.watch_script(), self.workers.warm_cache, seen)
        self._open.callback(recording.close)
        if recording.on_gpu and self.run.goal.output is not None:
            self.workers.prepare_for("cuda")
            self.workers.start()  # they warm up while the call is diagnosed
        return recording

    def diagnose(self, recording: Recording) -> DiagnosedRun:
        """The ladder of backends and the judge.

        Raises:
            CannotJudgeError: the recorded calls cannot be repeated.
        """
        if self.run.goal.output is not None and recording.findings:
            # its import of torch goes on while the rungs of the ladder leave a processor idle
            original = recording.findings[-1].original
            backend = original.options.get("backend") or Backend.INDUCTOR.value
            is_compiled = original.compiler == Compiler.COMPILE
            self.workers.fresh.prepare(is_compiled and backend == Backend.INDUCTOR.value)
        return diagnose_recording(self.run, recording)

    def capture(self, found: DiagnosedRun) -> CapturedProgram:
        """The failing call as plain data; where rounding may hide a bug, blocks are looked at.

        Raises:
            UsageError: --allow-values names what the call does not have.
                Or another run writes to the same folder.
            CannotJudgeError: the process that holds the call was ended.
        """
        run = self.run
        python = run.interpreters.own.path
        call = capture_call(run.options, python, run.goal, found, run.progress)
        has_call = found.diagnosis.basis.finding is not None
        # more is asked of the recorded call once there is a text that shows the failure
        is_kept = call.is_bug and self.run.goal.output is not None and has_call
        if not is_kept:
            found.recording.close()
        self.workers.prepare_for(call.device)
        if found.doubtful and call.material.assertion is not None:
            call = look_at_blocks(call, self.workers.pool, self.run.progress)
        if call.is_bug and self.run.goal.output is not None:
            return self._open_report(call, found.diagnosis if is_kept else None)
        return CapturedProgram(call)

    def reduce(self, captured: CapturedProgram) -> ReducedProgram:
        """The smallest public program that shows the failure.

        Raises:
            CannotJudgeError: no public program shows it.
        """
        call = captured.call
        if call.material.whole is not None:
            describe_equivalence(call)
        call = rename_exception(call)
        if call.material.assertion is None:
            raise CannotJudgeError(
                "no single call of the script shows it again, and a program is made of such a call"
            )
        assert captured.journal is not None
        self.workers.fresh.prepare(_compiles_with_inductor(call.material.assertion))
        origin = replace(captured, call=call)
        smaller = EarlyAnswer(self.run.goal.private, self.run.progress).write_candidate
        notes = SearchNotes(self.run.progress, captured.journal, smaller)
        options, budget = self.run.options, self.run.budget
        return ProgramSearch(origin, options, self.workers, budget, notes).reduce()

    def verify(self, reduced: ReducedProgram) -> VerifiedRepro:
        """The final text in fresh processes.

        Raises:
            CannotJudgeError: none shows the failure.
        """
        # the pictures need matplotlib, whose import takes a second; `measure` would be too late for
        # it, since with --quick that takes no time, while here we wait for fresh processes anyway
        threading.Thread(target=charts.import_matplotlib, daemon=True).start()
        options = self.run.options
        settings = VerificationSettings(
            is_watched=bool(options.evidence) and not options.quick,
            is_public=options.keep_source,
            begin=self._begin_measurements,
        )
        return Verification(
            reduced.captured, self.workers, self.run.budget, self.run.progress, settings
        ).verify(reduced)

    def measure(self, verified: VerifiedRepro) -> MeasuredRepro:
        """Ablation, culprit, regression test and pictures; then torch's own tools on the text."""
        with self._extras.hold_interrupts():
            return self._measure(verified, self._extras)

    def _measure(self, verified: VerifiedRepro, extras: OptionalMeasurements) -> MeasuredRepro:
        kernels = self._begin_kernels(verified, extras)
        measurement = Measurement(verified, self.workers, self.run.budget, self.run.say)
        verified, built = measurement.measure(extras)
        tools = self._ask_tools(verified, built, extras) if self.run.options.evidence else None
        is_inductors = verified.captured.verdict.layer in INDUCTOR_LAYERS
        if tools is not None and kernels is not None and is_inductors:
            tools = replace(tools, generated=kernels.wait())
        return MeasuredRepro(verified.captured, built, tools, tuple(extras.left_out))

    @functools.cached_property
    def _extras(self) -> OptionalMeasurements:
        """What measures while there is time for it."""
        options = self.run.options
        at_once = _SIDE_BY_SIDE if options.jobs > 1 else 1
        extras = OptionalMeasurements(
            self.run.progress, not options.quick, self.run.budget.end, at_once=at_once
        )
        self._open.callback(extras.close)
        return extras

    def _begin_measurements(
        self, reduced: ReducedProgram, program: PlainRepro
    ) -> BegunMeasurements | None:
        """Begins what is measured of a text that fresh processes are about to run, where it takes
        little from them: no whole model, no device with a memory of its own, nothing that hangs.
        """
        captured = reduced.captured
        is_light = (
            captured.material.whole is None
            and captured.device == "cpu"
            and captured.verdict.kind != Kind.HANG
        )
        if not is_light or self.run.options.jobs == 1 or not self._extras.may_begin():
            return None
        texts = TextMeasurements(reduced, program, self.workers, self.run.budget, self.run.say)
        return texts.begin(self._extras)

    def check_leaks(self, measured: MeasuredRepro) -> Outgoing:
        """The report as it leaves.

        Raises:
            LeakError: something private was found.
            UsageError: a form of the user's own cannot be filled in.
        """
        return check_torch_report(
            self.run.begin_leak_check(measured.left_out),
            measured.captured,
            measured.built,
            measured.tools,
            self.run.progress.note,
        )

    def conclude(
        self, captured: CapturedProgram, reason: CannotJudgeError | None = None
    ) -> RunResult:
        """The verdict alone; with a `reason`, why there is no repro."""
        call = captured.call
        report = build_bare_report(call, self.run.interpreters.own)
        document = report.to_json()
        lines = tuple(render_verdict(document))
        if reason is not None:
            code = CannotJudgeError.exit_code
            return RunResult(report, code, (*lines, f"No repro: {reason}."))
        if self.run.goal.output is None:
            lines = (*render_ladder(document), *lines)
        code = CannotJudgeError.exit_code if call.verdict.kind == Kind.OUTSIDE else NO_BUG
        return RunResult(report, 0 if call.verdict.is_bug else code, lines)

    def _open_report(
        self, captured: CapturedCall, diagnosis: Diagnosis | None = None
    ) -> CapturedProgram:
        """Begins the report's folder, which no other run may write to from now on: the recording as
        a resumed run will find it, and the verdict.

        Raises:
            UsageError: the folder cannot be written, or another run writes to it.
        """
        goal = self.run.goal
        others = tuple(str(item.path) for item in self.run.interpreters.others)
        surroundings = replace(captured.surroundings, differs_from=others)
        captured = replace(captured, surroundings=surroundings)
        _make_private_folder(goal.private)
        # first of all, since its lock keeps other runs from the folder
        journal = self._open.enter_context(self._open_journal(captured))
        captured.save(goal.private / RECORDING)
        if goal.resumed is None:
            shutil.rmtree(goal.private / EVIDENCE, ignore_errors=True)  # of an earlier run
        EarlyAnswer(goal.private, self.run.progress).write_verdict(
            build_bare_report(captured, self.run.interpreters.own)
        )
        self.run.progress.note(f"if interrupted, go on with: {goal.way_to_resume}")
        return CapturedProgram(captured, diagnosis, journal)

    def _open_journal(self, captured: CapturedCall) -> Journal:
        subject = f"{captured.surroundings.python} torch {self.run.interpreters.own.torch}"
        subject += "".join(f", differs from {contrast.name}" for contrast in self.workers.contrasts)
        private = self.run.goal.private
        before = private.parent / JOURNAL  # of the report that is replaced
        if before.exists() and not (private / JOURNAL).exists():
            shutil.copy2(before, private / JOURNAL)
        return Journal(private / JOURNAL, subject)

    def _begin_kernels(
        self, verified: VerifiedRepro, extras: OptionalMeasurements
    ) -> BegunMeasurement[GeneratedKernelsSection | None] | None:
        """Compiles Inductor's kernels of the text for GPUs that need not be there, beside all else
        that is measured; None where it makes none.
        """
        if not self.run.options.evidence or verified.captured.verdict.layer not in INDUCTOR_LAYERS:
            return None
        python, text = self.run.interpreters.own.path, verified.program.text
        folder = self.run.goal.private / EVIDENCE / "triton"
        budget = self.run.budget.limit(self.run.options.evidence)
        return extras.begin(
            "triton", lambda: inductor_kernels.compile_kernels(python, text, budget, folder), None
        )

    def _ask_tools(
        self, verified: VerifiedRepro, built: BuiltRepro, extras: OptionalMeasurements
    ) -> ReproEvidence | None:
        """What torch's tools say of the final text."""
        private = self.run.goal.private / EVIDENCE
        return extras.measure(
            "evidence",
            "torch's own tools on the repro",
            lambda: self._collect_evidence(verified, built, private),
            None,
        )

    def _collect_evidence(
        self, verified: VerifiedRepro, built: BuiltRepro, private: Path
    ) -> ReproEvidence:
        """What the tools say of the text."""
        captured = verified.captured
        failure = built.cold.failure
        error = f"{failure['message']}\n{failure.get('traceback', '')}" if failure else ""
        verdict, suspects = captured.verdict, _list_suspects(built)
        return collect_evidence(
            WatchedRun(
                self.run.interpreters.own.path,
                built.program.text,
                self.run.budget.limit(self.run.options.evidence),
                warm_cache=self.workers.warm_cache,
                watched=verified.cold.watched,
            ),
            ShownFailure(verdict.kind, verdict.layer, suspects, error),
            keep=private / "repro",
        )


def _compiles_with_inductor(assertion: ReproAssertion) -> bool:
    is_inductor = assertion.read_backend() in (None, Backend.INDUCTOR.value)
    return assertion.compiler == Compiler.COMPILE and is_inductor


def _make_private_folder(private: Path) -> None:
    try:
        private.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.chmod(private, 0o700)
    except OSError as error:
        raise UsageError(
            f"{private} cannot be written ({error.strerror}); choose another folder with --output"
        ) from None


def _list_suspects(built: BuiltRepro) -> tuple[str, ...]:
    """Names of operations that the search for the culprit blames, `aten.frexp.Tensor` as
    `frexp`.
    """
    blamed = built.details.culprit.operator if built.details.culprit else None
    parts = [
        part for part in (blamed or "").split(".") if part not in ("torch", "ops", "aten", "prims")
    ]
    return tuple(parts[:1])
