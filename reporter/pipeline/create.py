"""`diagnose` and `create`, end to end: study the script, build a repro, check what leaves, write
the folder.

Whatever was learnt before an interruption stays in `private/` of the output folder, where
`--resume` finds it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reporter.core.errors import CannotJudgeError, Interrupted, UsageError
from reporter.core.progress import Progress, open_progress
from reporter.core.recorded_call import Recorded
from reporter.core.report import Report, RungRow, Verdict
from reporter.core.settings import Options
from reporter.diagnose.explain import explanation
from reporter.execution import interpreter
from reporter.execution.journal import Journal
from reporter.pipeline.diagnose_script import prepare, study, working_folder
from reporter.publish import form
from reporter.publish.result import EVIDENCE, JOURNAL, NO_BUG, RECORDING, RunResult, device_of
from reporter.recording.attached import Attached, attach
from reporter.recording.entry_points import check_early
from reporter.reduce.blockwise import closer_look
from reporter.reduce.workers import WorkerSet
from reporter.whole_model.traced_model import describe_equivalence
from templates.diagnosis import ladder_lines, verdict_lines

if TYPE_CHECKING:

    from reporter.evidence.repro import ReproEvidence
    from reporter.publish.result import BuiltRepro


def diagnose(options: Options) -> RunResult:
    """The verdict alone. Exit code 0: a bug; 1: none. Raises BugreportError."""
    with program(options) as seen:
        nothing = seen.nothing() if seen is not None else None
        if nothing is not None:
            return RunResult(nothing, NO_BUG, ())
        python, info = prepare(options)
        with open_progress(options) as progress, working_folder() as name:
            _warn(progress)
            kernels = _kernels(options, info, progress, None)
            if kernels is not None:
                return kernels
            bench = WorkerSet(options, python, Path(name))
            try:
                recorded = _studied(options, bench, progress, want_program=False, seen=seen)
            finally:
                bench.close()
    report = _bare_report(recorded, info)
    document = report.to_json()
    lines = (*ladder_lines(document), *verdict_lines(document))
    return RunResult(report, 0 if recorded.is_bug else NO_BUG, lines)


def anonymize(options: Options) -> RunResult:
    """Like `create`, but the whole model, not reduced, and proved to be equivalent.

    Raises BugreportError.
    """
    return create(options, as_whole=True)


def create(options: Options, as_whole: bool = False) -> RunResult:
    """Everything up to the report folder. Exit code 0: a report was written; 1: no bug.

    Raises BugreportError.
    """
    started = time.monotonic()
    check_early(options)
    output = interpreter.check_output(options)
    form.check(options)
    with program(options) as seen:
        nothing = seen.nothing() if seen is not None else None
        if nothing is not None:
            return RunResult(nothing, NO_BUG, ())
        return _created(options, output, as_whole, seen, started)


def _created(
    options: Options, output: Path, as_whole: bool, seen: Attached | None, started: float
) -> RunResult:
    resumed = Recorded.load(output / "private" / RECORDING) if options.resume else None
    info, others = interpreters(options, resumed)
    with open_progress(options) as progress, working_folder() as name:
        _warn(progress)
        kernels = None if resumed or as_whole else _kernels(options, info, progress, output)
        if kernels is not None:
            return kernels
        bench = WorkerSet(options, info.path, Path(name), others)
        try:
            bench.start()  # warms up while the script runs
            recorded = resumed or _studied(options, bench, progress, True, as_whole, seen)
            bench.suit(device_of(recorded))
            if not recorded.is_bug:
                report = _bare_report(recorded, info)
                return RunResult(report, NO_BUG, tuple(verdict_lines(report.to_json())))
            recorded = replace(recorded, differs_from=tuple(str(item.path) for item in others))
            private = _private_folder(output)
            recorded.save(private / RECORDING)
            _keep_evidence(bench.folder / EVIDENCE, private / EVIDENCE)
            progress.note(f"if interrupted, go on with: bugreport create --resume {output}")
            if as_whole or recorded.whole is not None:
                describe_equivalence(recorded)
            return _build_and_write(options, bench, recorded, info, output, progress, started)
        except KeyboardInterrupt:
            if (output / "private" / RECORDING).exists():
                raise Interrupted(
                    f"interrupted; go on with `bugreport create --resume {output}`"
                ) from None
            raise
        finally:
            bench.close()


def interpreters(
    options: Options, resumed: Recorded | None
) -> tuple[interpreter.InterpreterInfo, tuple[interpreter.InterpreterInfo, ...]]:
    """The script's interpreter and those it has to differ from: a resumed run keeps the ones that
    it began with.

    Raises UsageError if one of them cannot be used, or if a resumed run is asked for others.
    """
    if resumed is None:
        _, info = prepare(options)
        return info, interpreter.others(options, info)
    info = interpreter.probe(Path(resumed.python))
    before = tuple(map(Path, resumed.differs_from))
    others = interpreter.others(replace(options, differs_from=before), info)
    if options.differs_from:
        asked = interpreter.others(options, info)
        if [item.prefix for item in asked] != [item.prefix for item in others]:
            kept = ", ".join(map(str, before)) or "none"
            raise UsageError(
                f"--differs-from is not that of the interrupted run ({kept}); give the same again,"
                " or start anew without --resume"
            )
    return info, others


@contextlib.contextmanager
def program(options: Options) -> Iterator[Attached | None]:
    """The recorded program that asked for a report by itself, or None where we start one."""
    session = attach(options) if options.attach is not None else None
    try:
        yield session
    finally:
        if session is not None:
            session.recording.close()


def _build_and_write(
    options: Options,
    bench: WorkerSet,
    recorded: Recorded,
    info: interpreter.InterpreterInfo,
    output: Path,
    progress: Progress,
    started: float,
) -> RunResult:
    from reporter.pipeline.build import ReproBuilder
    from reporter.publish.write import publish
    from reporter.reduce.source_candidates import in_public_words

    recorded = in_public_words(recorded)
    subject = f"{recorded.python} torch {info.torch}"
    subject += "".join(f", differs from {place.name}" for place in bench.places)
    with Journal(output / "private" / JOURNAL, subject) as journal:
        builder = ReproBuilder(
            recorded,
            options,
            bench.pool,
            bench.warm,
            journal,
            progress,
            bench.places,
            recorded.whole is not None,
        )
        try:
            built = builder.build()
        except CannotJudgeError as error:
            report = _bare_report(recorded, info)
            lines = (*verdict_lines(report.to_json()), f"No repro: {error}.")
            return RunResult(report, CannotJudgeError.exit_code, lines)
    evidence = _evidence(options, bench, recorded, built, output, progress)
    progress.stage("leak check", "every outgoing byte against the private program")
    seconds = time.monotonic() - started
    return publish(options, recorded, built, info, output, seconds, progress.note, evidence)


def _evidence(
    options: Options,
    bench: WorkerSet,
    recorded: Recorded,
    built: BuiltRepro,
    output: Path,
    progress: Progress,
) -> ReproEvidence | None:
    """What torch's tools say of the final text; None where nobody wants to know."""
    from reporter.evidence.repro import of_repro

    if not options.evidence:
        return None
    progress.stage("evidence", "torch's own tools on the repro, in one more fresh process")
    failure: dict[str, Any] = next((dict(a.failure) for a in built.cold if a.failure), {})
    found = of_repro(
        bench.python,
        built.text,
        kind=recorded.kind,
        layer=recorded.layer,
        suspects=_suspects(built),
        error=f"{failure.get('message', '')}\n{failure.get('traceback', '')}",
        budget=options.evidence,
        keep=output / "private" / EVIDENCE / "repro",
        warm=bench.warm,
    )
    if recorded.layer not in ("inductor", "decomposition"):
        return found
    from reporter.kernels import generated

    progress.stage("triton", "inductor's kernels, compiled for GPUs that need not be there")
    keep = output / "private" / EVIDENCE / "triton"
    return replace(
        found, generated=generated.of_repro(bench.python, built.text, options.evidence, keep)
    )


def _studied(
    options: Options,
    bench: WorkerSet,
    progress: Progress,
    want_program: bool,
    want_whole: bool = False,
    seen: Attached | None = None,
) -> Recorded:
    found = study(
        options,
        bench.python,
        bench.folder,
        bench.warm,
        progress,
        want_program,
        want_whole,
        seen.recording if seen is not None else None,
    )
    recorded = found.recorded
    bench.suit(device_of(recorded))
    if found.doubtful and recorded.check is not None:
        recorded = closer_look(recorded, bench.pool, progress)
    return recorded


def _private_folder(output: Path) -> Path:
    private = output / "private"
    try:
        private.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.chmod(private, 0o700)
    except OSError as error:
        raise UsageError(
            f"{output} cannot be written ({error.strerror}); choose another folder with --output"
        ) from None
    return private


def _kernels(
    options: Options, info: interpreter.InterpreterInfo, progress: Progress, output: Path | None
) -> RunResult | None:
    """The result for a script with Triton kernels of its own, or None: it has none, or the failure
    is elsewhere.
    """
    from reporter.kernels.ask import defines_kernels

    if options.script is None or not defines_kernels(options.cwd / options.script):
        return None
    from reporter.kernels.create import of_script

    return of_script(options, info, progress, output)


def _suspects(built: BuiltRepro) -> tuple[str, ...]:
    """Names of operations that the search for the culprit blames, `aten.frexp.Tensor` as
    `frexp`.
    """
    blamed = built.culprit.operator if built.culprit else None
    parts = [
        part for part in (blamed or "").split(".") if part not in ("torch", "ops", "aten", "prims")
    ]
    return tuple(parts[:1])


def _keep_evidence(found: Path, private: Path) -> None:
    """Moves what torch's tools wrote about the call out of the working folder, which goes away."""
    if found.is_dir():
        shutil.rmtree(private, ignore_errors=True)
        shutil.copytree(found, private, symlinks=True)


def _warn(progress: Progress) -> None:
    warning = interpreter.check_compiler()
    if warning:
        progress.note(warning)


def _bare_report(recorded: Recorded, info: interpreter.InterpreterInfo) -> Report:
    failure = recorded.failure or {}
    verdict = Verdict(
        recorded.kind,
        recorded.layer,
        recorded.is_bug,
        recorded.summary,
        recorded.signature.text() if recorded.signature else "",
        failure.get("exception"),
        failure.get("first_line"),
        recorded.reproduced,
        explanation(recorded.kind),
        recorded.command,
    )
    ladder = tuple(RungRow(**row) for row in recorded.ladder)
    return Report(
        verdict,
        ladder,
        info.torch,
        info.version,
        device_of(recorded),
        details={
            **({"remarks": list(recorded.remarks)} if recorded.remarks else {}),
            **recorded.details,
        },
    )
