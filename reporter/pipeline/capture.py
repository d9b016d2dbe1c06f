"""The third stage of `create`: the failing call as plain data, with all that candidates are made
from.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec.structs import replace as replace_section

from collectors.protocol.captured_graph import GraphJson
from collectors.protocol.captured_values import MOST_VALUES
from collectors.protocol.environment import EnvironmentAnswer
from collectors.protocol.graphs import CaptureWay
from collectors.protocol.words import CallOutcome
from reporter.core.errors import UsageError
from reporter.core.kinds import SEVERAL_CALLS, Kind, Layer
from reporter.core.settings import Options
from reporter.diagnose.comparisons import find_worst_value, list_wrong_outputs
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.explanation import write_command
from reporter.diagnose.ladder import Ladder, MeasuredRung
from reporter.execution.journal import Journal
from reporter.execution.usage import MeteredProgress
from reporter.pipeline.diagnose import DiagnosedRun
from reporter.pipeline.repro_assertion import build_assertion
from reporter.pipeline.run import Goal
from reporter.recording import questions
from reporter.recording.call_session import refuse_lost
from reporter.recording.entry_points import EntryPoint, resolve_entry_point
from reporter.report.captured_call import (
    CapturedCall,
    CapturedVerdict,
    ProgramMaterial,
    ScriptRun,
    Surroundings,
    WholeModel,
)
from reporter.report.environment import build_public_environment, list_withheld
from reporter.report.sections.measurements import RungRow
from reporter.report.sections.stages import StageRow
from reporter.whole_model import source_model, traced_model

_MAX_SOURCE = 2_000_000


@dataclass(frozen=True)
class CapturedProgram:
    """The failing call as plain data, what was found of the recorded one, as long as that can be
    asked, and where it is noted what candidates answer; that is None where nothing is reported.
    """

    call: CapturedCall
    diagnosis: Diagnosis | None = None
    journal: Journal | None = None

    @property
    def is_bug(self) -> bool:
        """Whether there is something to report."""
        return self.call.is_bug


def capture_call(
    options: Options, python: Path, goal: Goal, found: DiagnosedRun, progress: MeteredProgress
) -> CapturedCall:
    """All that candidates are made from, as plain data; the recording is not needed afterwards.

    Args:
        python: the interpreter that the script runs in.
        goal: whether a whole model is wanted, and where the report goes.
        found: the recording, while the process that holds the failing call still lives.
        progress: has the seconds of the stages so far.

    Raises:
        UsageError: the failing call lacks a tensor of --allow-values.
        CannotJudgeError: the process that holds the call was ended.
    """
    diagnosis = found.reported_diagnosis
    answer = _collect_environment(diagnosis)
    captured = CapturedCall(
        _build_verdict(found, diagnosis, progress.collect_rows()),
        _gather_material(options, resolve_entry_point(options, python), found, goal, answer),
        _build_surroundings(python, answer),
        ScriptRun(write_command(options, diagnosis.basis.cited), found.recording.script.output),
    )
    if goal.as_whole and found.diagnosis.is_bug:
        captured = _add_model(options, found, captured)
    return captured


def _build_verdict(
    found: DiagnosedRun, diagnosis: Diagnosis, timing: dict[str, StageRow]
) -> CapturedVerdict:
    return CapturedVerdict(
        kind=diagnosis.kind,
        layer=diagnosis.layer,
        summary=diagnosis.summary,
        is_bug=diagnosis.is_bug,
        signature=diagnosis.signature,
        failure=diagnosis.failure,
        ladder=_build_rows(diagnosis.basis.ladder),
        reproduced=diagnosis.basis.reproduced,
        details=replace_section(found.details.sections, timing=timing),
        remarks=(*_list_remarks(found.diagnosis), *found.details.lines),
        is_request=diagnosis.is_request,
        is_from_cache=diagnosis.is_from_cache,
        device=diagnosis.basis.ladder.device if diagnosis.basis.ladder else "cpu",
        wrong_outputs=list_wrong_outputs(diagnosis.comparison),
    )


def _list_remarks(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The line that says which cell or test made the call."""
    origin = diagnosis.basis.finding.original.origin if diagnosis.basis.finding is not None else ""
    return (f"the call was made in {origin}",) if origin else ()


def _collect_environment(diagnosis: Diagnosis) -> EnvironmentAnswer:
    """What the target says of itself: versions, torch's own words, the user's files and texts."""
    finding = diagnosis.basis.finding
    if finding is None:
        return {"outcome": CallOutcome.SKIPPED}
    answer = finding.call_session.request(questions.collect_environment(), 60)
    refuse_lost(answer)
    return answer


def _build_surroundings(python: Path, answer: EnvironmentAnswer) -> Surroundings:
    facts = answer.get("environment", {})
    return Surroundings(
        str(python),
        build_public_environment(facts),
        list_withheld(facts),
        tuple(answer.get("vocabulary", ())),
        tuple(answer.get("internals", ())),
    )


def _add_model(options: Options, found: DiagnosedRun, captured: CapturedCall) -> CapturedCall:
    """The recording with the trace of the whole model and its source."""
    finding = found.diagnosis.basis.finding
    if finding is None:
        return captured
    traced = traced_model.collect(finding.call_session, options.timeout, options.allow_values)
    captured = replace(captured, material=replace_section(captured.material, whole=traced))
    source = source_model.collect(finding.call_session, captured, options.timeout)
    whole: WholeModel = {**traced, "source": source}
    return replace(captured, material=replace_section(captured.material, whole=whole))


def _gather_material(
    options: Options,
    entry: EntryPoint,
    found: DiagnosedRun,
    goal: Goal,
    answer: EnvironmentAnswer,
) -> ProgramMaterial:
    """The program's files and, where a repro is to be made, what the failing call is asked for.

    Raises:
        UsageError: the call lacks a tensor of --allow-values.
    """
    sources = {
        **_read_sources(entry, answer.get("files", ())),
        **entry.texts,
        **answer.get("texts", {}),
    }
    diagnosis = found.reported_diagnosis
    finding = diagnosis.basis.finding
    is_wanted = found.diagnosis.is_bug and goal.output is not None or found.doubtful
    if finding is None or not is_wanted:
        return ProgramMaterial(sources=sources)
    gathered = finding.call_session.request(questions.gather(), 60)
    tensors = finding.call_session.request(questions.list_tensors(), 60)
    refuse_lost(gathered)
    refuse_lost(tensors)
    allowed = options.allow_values
    _check_allowed(allowed, tensors.get("tensors", {}))
    captures = tuple(capture_graphs(diagnosis, options.timeout / 2, allowed))
    words = frozenset(answer.get("vocabulary", ()))
    assertion = build_assertion(diagnosis, answer.get("environment"), words, options.seed)
    script = str(entry.script) if entry.script is not None else None
    return ProgramMaterial(
        assertion,
        captures,
        gathered.get("gathered"),
        sources,
        tensors.get("tensors", {}),
        script=script,
        frames=tuple(
            (each["function"], each["line"])
            for each in finding.original.frames
            if each["file"] == script
        ),
        arguments=tuple(entry.command[1:]),
        parsed=gathered.get("parsed", {}),
    )


def capture_graphs(
    diagnosis: Diagnosis, timeout: float, allow: Sequence[str] = ()
) -> Iterator[tuple[GraphJson, CaptureWay]]:
    """Captured graphs with how they were captured, likeliest to fail first (the last one that ran).

    `allow` names the tensors whose values may be captured, too.

    Raises:
        CannotJudgeError: the process that holds the call was ended.
    """
    finding = diagnosis.basis.finding
    assert finding is not None
    if diagnosis.kind == Kind.HANG and diagnosis.layer == Layer.DYNAMO:
        return  # no graph comes of a trace that does not end
    ways: list[CaptureWay] = [{"replay": False}]
    if finding.original.replay or diagnosis.kind in SEVERAL_CALLS:
        sequence: CaptureWay = {"replay": True}
        ways = [sequence, *ways] if diagnosis.kind in SEVERAL_CALLS else [*ways, sequence]
        ways.append({"replay": False, "dynamic": True})
    elif finding.original.has_dynamic_shapes:
        ways.insert(0, {"replay": False, "dynamic": True})
    for way in ways:
        answer = finding.call_session.request(questions.capture(way, allow), timeout)
        refuse_lost(answer)
        for graph in reversed(answer.get("graphs") or []):
            yield graph, way


def _check_allowed(names: Iterable[str], tensors: Mapping[str, int]) -> None:
    """Refuses what --allow-values cannot allow.

    Raises:
        UsageError: it names no tensor of the call, or one that nobody could read in a repro.
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


def _build_rows(ladder: Ladder | None) -> tuple[RungRow, ...]:
    """The rungs as report.json has them, in the order they were measured."""
    return tuple(_build_row(rung) for rung in ladder.rungs.values()) if ladder is not None else ()


def _build_row(rung: MeasuredRung) -> RungRow:
    worst = find_worst_value(rung.comparison) if rung.comparison else None
    return RungRow(
        rung=rung.name,
        outcome=rung.outcome,
        detail=rung.detail,
        max_abs_error=worst.get("max_abs_error") if worst else None,
        error_vs_fp64=worst.get("error_vs_fp64") if worst else None,
        eager_error_vs_fp64=worst.get("eager_error_vs_fp64") if worst else None,
        seconds=rung.run.seconds,
    )


def _read_sources(entry: EntryPoint, files: Iterable[str]) -> dict[str, str]:
    """The texts whose words are private: the script and the user's modules (`files`) that it had
    loaded when it failed.
    """
    paths = {entry.script} if entry.script is not None else set()
    found = {}
    for path in sorted({*paths, *map(Path, files)}):
        try:
            found[str(path)] = path.read_text(encoding="utf-8", errors="replace")[:_MAX_SOURCE]
        except OSError:
            continue
    return found
