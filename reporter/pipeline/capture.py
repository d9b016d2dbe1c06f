"""The third stage of `create`: the failing call as plain data, with all that candidates are made
from.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec.structs import replace as replace_section

from anonymizer.graph.boilerplate import ReproCheck
from anonymizer.graph.values import MOST_VALUES
from collectors.protocol import (
    CaptureWay,
    EnvironmentAnswer,
    GatheredJson,
    GraphJson,
)
from reporter.core.errors import UsageError
from reporter.diagnose.comparisons import worst_value
from reporter.diagnose.explain import command
from reporter.diagnose.ladder import Ladder, MeasuredRung
from reporter.diagnose.verdict import Diagnosis
from reporter.pipeline.diagnose import DiagnosedRun
from reporter.pipeline.run import Run
from reporter.recording import questions
from reporter.recording.entry_points import EntryPoint, entry_point_of
from reporter.reduce import initial_candidates
from reporter.report.captured_call import CapturedCall
from reporter.report.environment import list_withheld, public_environment
from reporter.report.sections import RungRow
from reporter.whole_model import source_model, traced_model

_MAX_SOURCE = 2_000_000


def capture_call(run: Run, found: DiagnosedRun) -> CapturedCall:
    """All that candidates are made from, as plain data; the recording is not needed afterwards.

    Raises UsageError for tensors of --allow-values that the failing call does not have.
    """
    is_bug, wanted = found.diagnosis.is_bug, run.output is not None
    diagnosis = found.details.remark_diagnosis or found.diagnosis
    answer = _environment(diagnosis)
    material = _Material()
    if wanted and is_bug or found.doubtful:
        material = _material(run, diagnosis, answer)
    captured = _collect(run, found, answer, material)
    if run.as_whole and is_bug:
        captured = _with_model(run, found, captured)
    return captured


def _collect(
    run: Run, found: DiagnosedRun, answer: EnvironmentAnswer, material: _Material
) -> CapturedCall:
    """The verdict with its measurements, the environment, and the material of candidates."""
    recording, diagnosis = found.recording, found.details.remark_diagnosis or found.diagnosis
    way = entry_point_of(run.program, run.info.path)
    return CapturedCall(
        kind=diagnosis.kind,
        layer=diagnosis.layer,
        summary=diagnosis.summary,
        is_bug=diagnosis.is_bug,
        signature=diagnosis.signature,
        failure=diagnosis.failure,
        ladder=_rows(diagnosis.ladder),
        check=material.check,
        captures=material.captures,
        gathered=material.gathered,
        environment=public_environment(answer.get("environment", {})),
        withheld=list_withheld(answer.get("environment", {})),
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
        command=command(run.program, diagnosis.cited),
        details=replace_section(found.details.sections, timing=run.progress.rows()),
        remarks=(*_remarks(found.diagnosis), *found.details.lines),
        tensors=material.tensors,
        script={"exit": recording.exit, "calls": recording.calls, "compiles": recording.compiles},
    )


def _remarks(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The line that says which cell or test made the call."""
    origin = diagnosis.finding.origin if diagnosis.finding is not None else ""
    return (f"the call was made in {origin}",) if origin else ()


def _environment(diagnosis: Diagnosis) -> EnvironmentAnswer:
    """What the target says of itself: versions, torch's own words, the user's files and texts."""
    finding = diagnosis.finding
    if finding is None:
        return {"outcome": "skipped"}
    return finding.call_session.request(questions.environment(), 60)


def _with_model(run: Run, found: DiagnosedRun, captured: CapturedCall) -> CapturedCall:
    """The recording with the trace of the whole model and its source."""
    finding = found.diagnosis.finding
    if finding is None:
        return captured
    traced = traced_model.collect(finding.call_session, run.work.timeout, run.issue.allow_values)
    captured = replace(captured, whole=traced)
    source = source_model.collect(finding.call_session, captured, run.work.timeout)
    return replace(captured, whole={**traced, "source": source})


@dataclass(frozen=True)
class _Material:
    """What candidates are made from: graphs with their options, the source, the check; and the
    call's named tensors.
    """

    captures: tuple[tuple[GraphJson, CaptureWay], ...] = ()
    gathered: GatheredJson | None = None
    check: ReproCheck | None = None
    tensors: Mapping[str, int] = field(default_factory=dict)


def _material(run: Run, diagnosis: Diagnosis, answer: EnvironmentAnswer) -> _Material:
    """Asks the failing call for it.

    Raises UsageError for tensors of --allow-values that it does not have.
    """
    finding = diagnosis.finding
    if finding is None:
        return _Material()
    gathered = finding.call_session.request(questions.gather(), 60).get("gathered")
    tensors = finding.call_session.request(questions.tensors(), 60).get("tensors", {})
    allowed = run.issue.allow_values
    _check_allowed(allowed, tensors)
    graphs = initial_candidates.graphs(diagnosis, run.work.timeout / 2, allowed)
    captures = tuple(graphs)
    words = frozenset(answer.get("vocabulary", ()))
    check = initial_candidates.check_for(diagnosis, answer.get("environment"), words=words)
    return _Material(captures, gathered, check, tensors)


def _check_allowed(names: Iterable[str], tensors: Mapping[str, int]) -> None:
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


def _rows(ladder: Ladder | None) -> tuple[RungRow, ...]:
    """The rungs as report.json has them, in the order they were measured."""
    return tuple(_row(rung) for rung in ladder.rungs.values()) if ladder is not None else ()


def _row(rung: MeasuredRung) -> RungRow:
    worst = worst_value(rung.comparison) if rung.comparison else None
    return RungRow(
        rung.name,
        rung.outcome,
        rung.detail,
        worst.get("max_abs_error") if worst else None,
        worst.get("error_vs_fp64") if worst else None,
        worst.get("eager_error_vs_fp64") if worst else None,
        rung.seconds,
    )


def _sources(way: EntryPoint, files: Iterable[str]) -> dict[str, str]:
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
