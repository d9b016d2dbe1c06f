"""The first half of a run: run the script, reach a verdict, and collect what candidates will be
made from.
"""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO

from msgspec.structs import replace as replace_section

from anonymizer.graph.boilerplate import ReproCheck
from anonymizer.graph.values import MOST_VALUES
from collectors.protocol import (
    CaptureWay,
    EnvironmentAnswer,
    GatheredJson,
    GraphJson,
)
from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.kinds import ROUNDED
from reporter.core.plain import Json
from reporter.core.progress import Progress
from reporter.core.settings import Options
from reporter.diagnose.details.gather import DiagnosisDetails, gather
from reporter.diagnose.eager_faults import may_be_torch
from reporter.diagnose.eager_values import may_be_eager
from reporter.diagnose.explain import command
from reporter.diagnose.judge import judge
from reporter.diagnose.ladder import Ladder, MeasuredRung, worst_value
from reporter.diagnose.no_finding import may_fail_uncompiled, same_ending, script_failed
from reporter.diagnose.verdict import Diagnosis
from reporter.execution.compiler_cache import prefill
from reporter.execution.control import VARIABLE
from reporter.pipeline.run import Run
from reporter.recording import questions
from reporter.recording.entry_points import Way, facts_for, own_texts, refuse_run, way_of
from reporter.recording.findings import Recording
from reporter.recording.operators import OperatorWatch
from reporter.recording.session import RecordingSession, WatchedProgram, Watching
from reporter.reduce import initial_candidates
from reporter.report.environment import public_environment, withheld
from reporter.report.recorded_call import Recorded
from reporter.whole_model import source_model, traced_model

_MAX_SOURCE = 2_000_000
#: Of the time that is left to a run with a budget: what the script may take, and one rung.
_SHARE_OF_SCRIPT, _SHARE_OF_RUNG = 0.4, 0.2
#: Child processes of a script that are watched, one after another.
_MOST_CHILDREN = 4
#: Why calls cannot be repeated, by what the recorder names.
_UNSUPPORTED = {
    "ranks": (
        "the script is one of several processes of a group, and its calls cannot be repeated"
        " without the others; start it alone, with a WORLD_SIZE of 1"
    ),
}


@dataclass(frozen=True)
class Diagnosed:
    """The verdict on a recorded run and what is known beside it.

    `doubtful` asks for a closer look at parts of the graph.
    """

    recording: Recording
    diagnosis: Diagnosis
    details: DiagnosisDetails
    doubtful: bool


def record_program(run: Run, warm: Path, seen: Recording | None = None) -> Recording:
    """Runs the script once, watched; with `seen`, a program that ran by itself, nothing is run.

    `warm` is the folder of the warm-up cache. Raises UsageError for unusable input.
    """
    way = way_of(run.options, run.info.path)
    prefill((run.folder if seen is None else seen.folder) / "cache", warm)
    if seen is None:
        run.progress.stage("record", "running the script once, every compiled call next to eager")
    options = replace(run.options, timeout=run.within(run.options.timeout, _SHARE_OF_SCRIPT))
    recording = seen or record(options, way, run.info.path, run.folder, run.progress)
    try:
        refuse_run(way, recording)
    except BaseException:
        recording.close()
        raise
    return recording


def diagnose_recording(run: Run, recording: Recording) -> Diagnosed:
    """The verdict on a recorded run. Raises CannotJudgeError where its calls cannot be repeated."""
    options, progress = run.options, run.progress
    if recording.unsupported and not recording.findings:
        raise CannotJudgeError(_UNSUPPORTED[recording.unsupported])
    calls = f"{recording.calls} compiled call{'s' if recording.calls != 1 else ''}"
    watching = f"watching added {recording.overhead:.1f} s of {recording.seconds:.1f} s"
    progress.stage("diagnose", f"{calls}, {watching}")
    say = progress.note if options.verbose else lambda _: None
    limit = run.within(options.timeout / 2, _SHARE_OF_RUNG)
    diagnosis = judge(recording, limit, say, options.rungs, options.jobs)
    doubtful = _doubtful(diagnosis, recording)
    progress.stage("capture" if run.output is not None else "details", diagnosis.summary)
    measure = partial(
        gather,
        diagnosis,
        recording,
        limit,
        options.jobs,
        say,
        checked=_checks(way_of(options, run.info.path)),
    )
    try:
        details = measure(thorough=not (run.output is not None or doubtful or options.quick))
    except KeyboardInterrupt:
        progress.note("interrupted: the verdict is said without what was still measured")
        details = measure(thorough=False)
    return Diagnosed(recording, diagnosis, details, doubtful)


def capture_call(run: Run, found: Diagnosed) -> Recorded:
    """All that candidates are made from, as plain data; the recording is not needed afterwards.

    Raises UsageError for tensors of --allow-values that the failing call does not have.
    """
    is_bug, wanted = found.diagnosis.is_bug, run.output is not None
    diagnosis = found.details.remark_diagnosis or found.diagnosis
    answer = _environment(diagnosis)
    material = _Material()
    if wanted and is_bug or found.doubtful:
        material = _material(run.options, diagnosis, answer)
    recorded = _collect(run, found, answer, material)
    if run.as_whole and is_bug:
        recorded = _with_model(run, found, recorded)
    return recorded


def _doubtful(diagnosis: Diagnosis, recording: Recording) -> bool:
    """Whether rounding excuses the whole call of a script that itself says it fails: a part of the
    graph may be wrong.
    """
    excused = not diagnosis.is_bug and diagnosis.kind in ROUNDED
    return excused and script_failed(recording)


def _place(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The line that says which cell or test made the call."""
    place = diagnosis.finding.place if diagnosis.finding is not None else ""
    return (f"the call was made in {place}",) if place else ()


def record(options: Options, way: Way, python: Path, folder: Path, progress: Progress) -> Recording:
    """Watches the script; where it fails and no watched call tells why, once more with every call
    watched.
    """
    for note in way.notes:
        progress.note(note)
    recording = _session(options, way, python, folder, progress).run()
    if options.untrusted is not None:
        options.untrusted(_account(recording))
    gpu = recording.unsupported == "CUDA"
    if gpu:
        progress.note(
            "the script computes on CUDA, which no fork of it could: it is run again for each"
            " question"
        )
        recording.close()
        recording = _session(options, way, python, folder, progress, gpu=True).run()
    skipped = recording.calls - recording.compared - recording.unchecked
    if script_failed(recording) and not recording.findings and skipped > 0:
        progress.note(
            f"the script fails, and {skipped} of its compiled calls were not compared: once more,"
            " all of them"
        )
        recording.close()
        recording = _session(options, way, python, folder, progress, every_call=True, gpu=gpu).run()
    again = _Again(options, way, python, folder, progress)
    if recording.children and not recording.findings:
        recording = again.with_children(recording)
    if not recording.findings and may_be_torch(recording):
        recording = again.with_operator(recording)
    elif not recording.findings and may_be_eager(recording):
        recording = again.with_measured_operators(recording)
    elif not recording.findings and may_fail_uncompiled(recording):
        recording.fails_uncompiled = again.fails_uncompiled(recording)
    return recording


def _account(recording: Recording) -> Json:
    """How a stranger's program ended, as its supervisor saw it and as it says itself."""
    raised = recording.script_exception
    return {
        "exit": recording.ended,
        "said": recording.exit,
        "exception": raised["class"] if raised else None,
        "calls": recording.calls,
        "compared": recording.compared,
        "reached": list(recording.reached),
    }


@dataclass(frozen=True)
class _Again:
    """More runs of a script that fails without any fault of a compiled call."""

    options: Options
    way: Way
    python: Path
    folder: Path
    progress: Progress

    def with_children(self, recording: Recording) -> Recording:
        """The run in which the child process is watched whose calls fail; the given one, with what
        the others' calls showed, where there is none.
        """
        count = len(recording.children)
        self.progress.note(
            f"the script starts processes of its own, and {count} of them"
            f" compile{'s' if count == 1 else ''} something: once more for each of them"
        )
        for number in recording.children[:_MOST_CHILDREN]:
            found = self._session(child=number).run()
            if found.findings:
                recording.close()
                return found
            recording.calls += found.calls
            recording.compiles += found.compiles
            recording.compared += found.compared
            recording.unchecked += found.unchecked
            found.close()
        return recording

    def with_operator(self, recording: Recording) -> Recording:
        """The run in which the torch function that ends the script is watched; the given one where
        it cannot be found.
        """
        self.progress.note(
            "the script fails in torch's own code, and not in a compiled call: twice more, to find"
            " the operator"
        )
        watch = OperatorWatch(self.folder)
        self._run(watch).close()
        number = watch.last(died=recording.script_exception is None)
        return recording if number is None else self._watched(recording, number)

    def with_measured_operators(self, recording: Recording) -> Recording:
        """The run with what its operators are off float64; where one of them is wrong, the run in
        which that call is watched.
        """
        self.progress.note(
            "the script's own check fails, and no compiled call differs: once more, each operator"
            " against float64"
        )
        watch = OperatorWatch(self.folder, measured=True)
        self._run(watch).close()
        recording.operators = watch.facts()
        if recording.operators is None:
            return recording
        if recording.operators["wrong"]:
            return self._watched(recording, recording.operators["wrong"][0]["function"])
        if recording.operators["uninitialized"]:
            zeroed = self._run(OperatorWatch(self.folder, zeroed=True))
            recording.right_with_zeros = zeroed.exit == 0
            zeroed.close()
        return recording

    def fails_uncompiled(self, recording: Recording) -> bool | None:
        """Whether the script ends in the same exception with the compiler switched off; None where
        that run did not come to its end.
        """
        self.progress.note(
            "the script fails, and no compiled call differs: once more, without the compiler"
        )
        found = self._session(uncompiled=True).run()
        found.close()
        if found.stopped or found.unsupported is not None or found.exit is None:
            return None
        return same_ending(recording.script_exception, found.script_exception)

    def _watched(self, recording: Recording, number: int) -> Recording:
        found = self._run(OperatorWatch(self.folder, number))
        if not found.findings:
            found.close()
            return recording
        recording.close()
        found.operators = recording.operators
        return found

    def _run(self, watch: OperatorWatch) -> Recording:
        return self._session(operators=watch).run()

    def _session(
        self,
        operators: OperatorWatch | None = None,
        child: int | None = None,
        uncompiled: bool = False,
    ) -> RecordingSession:
        given = self.options, self.way, self.python, self.folder, self.progress
        return _session(*given, operators=operators, child=child, uncompiled=uncompiled)


def _session(
    options: Options,
    way: Way,
    python: Path,
    folder: Path,
    progress: Progress,
    every_call: bool = False,
    gpu: bool = False,
    operators: OperatorWatch | None = None,
    child: int | None = None,
    uncompiled: bool = False,
) -> RecordingSession:
    variables = way.variables() | ({VARIABLE: "1"} if uncompiled else {})
    program = WatchedProgram(
        python, tuple(way.command), way.cwd, folder / "cache", facts_for(way), variables
    )
    # a program that is run again up to one call counts the compiled calls of its own process alone
    is_other = operators is not None or child is not None
    reruns = options.jobs if (gpu or options.workers == "spawn") and not is_other else 0
    # with a budget the script's share of it is all that it has
    longest = options.timeout if options.budget else None
    guarded = options.untrusted is not None
    watching = Watching(
        options.timeout, every_call, reruns, gpu, operators, child, longest, guarded
    )
    # what is printed has been printed by the first run
    is_first = operators is None and child is None and not uncompiled
    echo = _echo(options.json) if is_first else None
    return RecordingSession(program, watching, echo, progress.note)


def _echo(json_mode: bool) -> IO[bytes] | None:
    """Where the script's prints go: its usual place, or stderr when stdout belongs to a JSON
    document.
    """
    return getattr(sys.stderr if json_mode else sys.stdout, "buffer", None)


def _collect(
    run: Run, found: Diagnosed, answer: EnvironmentAnswer, material: _Material
) -> Recorded:
    """The verdict with its measurements, the environment, and the material of candidates."""
    recording, diagnosis = found.recording, found.details.remark_diagnosis or found.diagnosis
    way = way_of(run.options, run.info.path)
    return Recorded(
        kind=diagnosis.kind,
        layer=diagnosis.layer,
        summary=diagnosis.summary,
        is_bug=diagnosis.is_bug,
        signature=diagnosis.signature,
        failure=diagnosis.failure,
        ladder=tuple(rungs_json(diagnosis.ladder)),
        check=material.check,
        captures=material.captures,
        gathered=material.gathered,
        environment=public_environment(answer.get("environment", {})),
        withheld=withheld(answer.get("environment", {})),
        vocabulary=tuple(answer.get("vocabulary", ())),
        internals=tuple(answer.get("internals", ())),
        sources={
            **_sources(way, answer.get("files", ())),
            **way.texts,
            **answer.get("texts", {}),
        },
        python=str(run.info.path),
        output=recording.output,
        reproduced=diagnosis.reproduced,
        command=command(run.options, diagnosis.cited),
        details=replace_section(found.details.sections, timing=run.progress.rows()),
        remarks=(*_place(found.diagnosis), *found.details.lines),
        tensors=material.tensors,
        script={"exit": recording.exit, "calls": recording.calls, "compiles": recording.compiles},
    )


def _environment(diagnosis: Diagnosis) -> EnvironmentAnswer:
    """What the target says of itself: versions, torch's own words, the user's files and texts."""
    finding = diagnosis.finding
    if finding is None:
        return {"outcome": "skipped"}
    return finding.live_call.request(questions.environment(), 60)


def _with_model(run: Run, found: Diagnosed, recorded: Recorded) -> Recorded:
    """The recording with the trace of the whole model and its source."""
    finding = found.diagnosis.finding
    if finding is None:
        return recorded
    traced = traced_model.collect(finding.live_call, run.options.timeout, run.options.allow_values)
    recorded = replace(recorded, whole=traced)
    source = source_model.collect(finding.live_call, recorded, run.options.timeout)
    return replace(recorded, whole={**traced, "source": source})


@dataclass(frozen=True)
class _Material:
    """What candidates are made from: graphs with their options, the source, the check; and the
    call's named tensors.
    """

    captures: tuple[tuple[GraphJson, CaptureWay], ...] = ()
    gathered: GatheredJson | None = None
    check: ReproCheck | None = None
    tensors: Mapping[str, int] = field(default_factory=dict)


def _material(options: Options, diagnosis: Diagnosis, answer: EnvironmentAnswer) -> _Material:
    """Asks the failing call for it.

    Raises UsageError for tensors of --allow-values that it does not have.
    """
    finding = diagnosis.finding
    if finding is None:
        return _Material()
    gathered = finding.live_call.request(questions.gather(), 60).get("gathered")
    tensors = finding.live_call.request(questions.tensors(), 60).get("tensors", {})
    check_allowed(options.allow_values, tensors)
    graphs = initial_candidates.graphs(diagnosis, options.timeout / 2, options.allow_values)
    captures = tuple(graphs)
    words = frozenset(answer.get("vocabulary", ()))
    check = initial_candidates.check_for(diagnosis, answer.get("environment"), words=words)
    return _Material(captures, gathered, check, tensors)


def check_allowed(names: Iterable[str], tensors: Mapping[str, int]) -> None:
    """Raises UsageError where --allow-values names no tensor of the call, or one that nobody could
    read in a repro.
    """
    for name in names:
        if name not in tensors:
            near = difflib.get_close_matches(name, tensors, n=3) or list(tensors)[:5]
            raise UsageError(
                f"--allow-values {name}: the failing call has no tensor of that name; it has"
                f" {', '.join(near) or 'none'}"
            )
        if tensors[name] > MOST_VALUES:
            raise UsageError(
                f"--allow-values {name}: its {tensors[name]:,} numbers are too many to be written"
                f" into a repro (at most {MOST_VALUES:,}); make the tensor smaller in the script,"
                " as far as it still fails"
            )


def _checks(way: Way) -> bool:
    """Whether the script ends badly by its own decision when results are wrong: it asserts, raises
    or exits.
    """
    return any(_ends_itself(text) for text in own_texts(way))


def _ends_itself(text: str) -> bool:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, (ast.Assert, ast.Raise))
        or isinstance(node, (ast.Name, ast.Attribute))
        and _last(node).startswith("assert")
        or isinstance(node, ast.Call)
        and isinstance(node.func, (ast.Name, ast.Attribute))
        and _last(node.func) == "exit"
        and not any(isinstance(status, ast.Call) for status in node.args)  # sys.exit(main())
        for node in ast.walk(tree)
    )


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def rungs_json(ladder: Ladder | None) -> list[Json]:
    """The rungs as report.json has them, in the order they were measured."""
    rows = []
    for rung in ladder.rungs.values() if ladder is not None else ():
        rows.append(
            {
                "rung": rung.name,
                "outcome": rung.outcome,
                "detail": rung.detail,
                **_errors(rung),
                "seconds": rung.seconds,
            }
        )
    return rows


def _errors(rung: MeasuredRung) -> Json:
    worst = worst_value(rung.comparison) if rung.comparison else None
    keys = ("max_abs_error", "error_vs_fp64", "eager_error_vs_fp64")
    return {key: worst.get(key) if worst else None for key in keys}


def _sources(way: Way, files: Iterable[str]) -> dict[str, str]:
    """The texts whose words are private: the script and the user's modules (`files`) that it had
    loaded when it failed.
    """
    paths = {way.script} if way.script is not None else set()
    found = {}
    for path in sorted({*paths, *map(Path, files)}):
        try:
            found[str(path)] = path.read_text(encoding="utf-8", errors="replace")[:_MAX_SOURCE]
        except OSError:
            continue
    return found
