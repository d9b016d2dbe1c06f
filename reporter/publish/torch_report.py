"""What the report of a torch program says: its document, its issue, and what stays here."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

from msgspec import UNSET, structs

from anonymizer.graph.repro import DERIVATIVE_CHECKS
from reporter.core.formatting import count_lines, format_program
from reporter.core.json_values import Json
from reporter.core.kinds import (
    CRASHES,
    DYNAMIC_SUFFIX,
    Backend,
    Compiler,
    Differentiation,
    Kind,
    RungOutcome,
)
from reporter.core.operation_names import list_operators, name_operators
from reporter.core.signature import Signature
from reporter.diagnose.details import suspect
from reporter.diagnose.details.workaround import describe as describe_on_call
from reporter.diagnose.explanation import explain_verdict
from reporter.diagnose.stacks import is_raised_by_exported
from reporter.evidence.repro_evidence import ReproEvidence
from reporter.evidence.structured_trace import find_checksums
from reporter.execution import control
from reporter.execution.interpreter import InterpreterInfo
from reporter.publish.exception_message import shorten_message
from reporter.publish.form import choose_form
from reporter.publish.leak_check import AllowList
from reporter.publish.private_terms import collect_terms, find_left_over
from reporter.publish.report_files import (
    Destination,
    Draft,
    Outgoing,
    build_outgoing,
    make_issue,
)
from reporter.publish.result import BuiltRepro
from reporter.reduce.source_candidates import RewrittenProgram, count_statements
from reporter.report.captured_call import CapturedCall
from reporter.report.fingerprint import Fingerprint, compute_fingerprint
from reporter.report.folder import MAPPING, REPRO, TRACE
from reporter.report.labels import LabelGrounds, choose_labels
from reporter.report.sections.base import build_section
from reporter.report.sections.finished_repro import NeighbourRow, ReproInfo, Requires
from reporter.report.sections.machine import EnvironmentSection
from reporter.report.sections.outgoing import IssueSection
from reporter.report.sections.report_document import Report
from reporter.report.sections.verdict import FailureSection, OtherFailureSection, Verdict
from reporter.report.sections.whole_model import StockDifference
from reporter.whole_model.source_model import map_classes
from reporter.whole_model.traced_model import describe_equivalence, map_names
from templates.issue_forms import IssueForm
from templates.regression import ReproducedFailure, render_test
from templates.release_order import find_regressions
from templates.side_by_side import render_side_by_side


def check_torch_report(
    to: Destination,
    captured: CapturedCall,
    built: BuiltRepro,
    found: ReproEvidence | None,
    note: Callable[[str], None],
) -> Outgoing:
    """The report as it leaves.

    What the compiler made of the repro is full of words of its own; where one of them is also a
    private name, the excerpt stays behind rather than the report.

    Args:
        to: has the folder, the user's own words, and what the run took.
        captured: the private call.
        built: the repro that was verified.
        found: what torch's tools said of the repro; None: nothing.
        note: gets what the lint found.

    Raises:
        LeakError, UsageError: as `build_outgoing` does.
    """
    around = captured.surroundings
    terms = collect_terms(to.issue, captured, built, to.cwd)
    revisions = (around.environment.get("git"), to.info.torch_git)
    form = choose_form(to.issue, captured.verdict.layer, captured.verdict.is_request)
    plain = _build_draft(captured, built, to, form)
    evidence = found.list_fallbacks() if found else ()
    return build_outgoing(
        to,
        form,
        allowing=AllowList.build(terms, around.internals, around.environment, *revisions),
        drafts=(*(_add_evidence(plain, each) for each in evidence), plain),
        private=_build_private_files(captured, built),
        note=note,
    )


def build_bare_report(captured: CapturedCall, info: InterpreterInfo) -> Report:
    """The verdict alone, without a repro."""
    failure = captured.verdict.failure
    told = captured.verdict.reported_kind
    verdict = Verdict(
        kind=told,
        layer=captured.verdict.layer,
        is_bug=captured.verdict.is_bug and not captured.verdict.is_request,
        summary=captured.verdict.summary,
        signature=captured.verdict.signature.describe() if captured.verdict.signature else "",
        exception=failure["exception"] if failure else None,
        message=failure["first_line"] if failure else None,
        reproduced=captured.verdict.reproduced,
        explanation=explain_verdict(captured.verdict),
        command=captured.script.command,
        is_from_cache=captured.verdict.is_from_cache or UNSET,
    )
    return Report(
        verdict,
        captured.verdict.ladder,
        info.torch,
        info.version,
        captured.device,
        remarks=captured.verdict.remarks or None,
        **structs.asdict(captured.verdict.details),
    )


def _build_draft(
    captured: CapturedCall, built: BuiltRepro, to: Destination, form: IssueForm
) -> Draft:
    """The report without what torch's tools say of the repro."""
    report, measured = _build_report(captured, built, to, form), built.details.measured
    others = {
        _make_other_path(number): other.text for number, other in enumerate(built.search.others, 1)
    }
    text = built.program.text
    if measured is not None:
        return Draft(report, text, measured.test, measured.cells, others)
    test = format_program(render_test(summarize_failure(report), text))
    return Draft(report, text, test, (), others)


def summarize_failure(report: Report) -> ReproducedFailure:
    """What the regression test of a report with a repro says of its failure."""
    verdict, repro = report.verdict, report.repro
    assert repro is not None
    return ReproducedFailure(
        str(verdict.kind), str(verdict.layer), verdict.summary, repro.operators
    )


def _add_evidence(draft: Draft, found: ReproEvidence) -> Draft:
    """The report with what torch's tools say of the repro."""
    issue = draft.report.issue
    assert issue is not None
    environment = issue.environment
    if found.vector_isa:
        environment = structs.replace(environment, vector_isa=found.vector_isa)
    excerpt = asdict(found.excerpt) if found.excerpt else None
    issue = structs.replace(issue, environment=environment, excerpt=excerpt)
    return replace(
        draft,
        report=structs.replace(draft.report, evidence=found.to_section(), issue=issue),
        others={**draft.others, TRACE: found.trace} if found.trace else draft.others,
        allowed=find_checksums(found.trace),
    )


def _build_report(
    captured: CapturedCall, built: BuiltRepro, to: Destination, form: IssueForm
) -> Report:
    info = to.info
    others = [
        build_section(OtherFailureSection, {**other.to_json(), "path": _make_other_path(number)})
        for number, other in enumerate(built.search.others, 1)
    ]
    signature, measured = _find_shown_crash(captured, built), built.details.measured
    whole, stock = captured.material.whole is not None, built.search.different
    return Report(
        verdict=_build_verdict(captured, built),
        ladder=built.details.ablation,
        torch=info.torch,
        python=info.version,
        device=find_device(captured.device, built.program.text),
        requires=_build_requirements(built),
        repro=_build_repro_info(captured, built, to.used.seconds),
        labels=form.allow(_choose_labels(captured, built, info.torch)),
        other_findings=tuple(others),
        differs_from=built.details.differs_from or None,
        culprit=built.details.culprit,
        sizes_left=(sizes := tuple(find_left_over(captured, built))),
        numbers_left=tuple(n for n in built.search.numbers_left if n not in sizes) or None,
        equivalence=describe_equivalence(captured, built.candidate.content) if whole else None,
        differs_from_stock=build_section(StockDifference, stock) if whole and stock else None,
        failure=build_section(FailureSection, signature.to_json()) if signature else None,
        fingerprint=_build_fingerprint(captured, built).to_section(),
        reduction=built.search.history,
        pictures=measured.numbers if measured else None,
        test=measured.shown if measured else None,
        # an interrupted run had stages that this one has not gone through
        timing={**(captured.verdict.details.timing or {}), **to.used.timing},
        not_measured=to.used.not_measured or None,
        issue=_build_issue(captured, built, to, form),
    )


def _build_repro_info(captured: CapturedCall, built: BuiltRepro, seconds: float) -> ReproInfo:
    text, count = built.program.text, built.program.operations
    return ReproInfo(
        path=REPRO,
        statements=count_statements(built.candidate) if count is None else count,
        lines=count_lines(text),
        operators=name_operators(built.program.harness, captured.verdict.layer),
        verified_cold=built.cold.hits > 0,
        candidates=built.search.counts.settled,
        seconds=round(seconds, 1),
        neighbours=tuple(
            NeighbourRow(f"{near.what}: {near.to}", near.fails) for near in built.details.neighbours
        ),
        compiler=Compiler(built.candidate.assertion.compiler),
        control=tuple(control.build_control_command(text) or ()) or None,
        eager_error=built.details.eager_error,
    )


def find_device(recorded: str, text: str) -> str:
    """The device that a repro computes on: the recorded call's where its text names that, as a
    failure that does not need it is shown on the CPU.
    """
    return recorded if recorded in text else "cpu"


def _build_fingerprint(captured: CapturedCall, built: BuiltRepro) -> Fingerprint:
    return compute_fingerprint(
        captured.verdict.kind,
        captured.verdict.layer,
        list_operators(built.program.harness),
        built.cold.failure,
        built.cold.signal,
    )


def _find_shown_crash(captured: CapturedCall, built: BuiltRepro) -> Signature | None:
    """The crash as a fresh process showed it, in the form in which `check` compares it on other
    releases.
    """
    if captured.verdict.kind not in CRASHES or captured.verdict.signature is None:
        return None
    return built.cold.find_crash(captured.verdict.signature)


def _build_verdict(captured: CapturedCall, built: BuiltRepro) -> Verdict:
    failure = built.cold.failure
    checked = built.candidate.assertion.backward
    is_gradient = captured.verdict.kind == Kind.WRONG_GRADIENT
    is_named = checked in DERIVATIVE_CHECKS or checked == Differentiation.TANGENTS
    crash = captured.verdict.kind in CRASHES
    summary, message = built.summary, failure["message"] or None if failure else None
    if captured.verdict.kind == Kind.PROCESS_DEATH:
        summary, message = built.cold.describe_death(built.summary)
    return Verdict(
        kind=captured.verdict.reported_kind,
        layer=captured.verdict.layer,
        is_bug=not captured.verdict.is_request,
        summary=summary,
        signature=_write_public_signature(captured),
        exception=failure["exception"] if crash and failure else built.cold.signal,
        message=shorten_message(failure) if crash else message,
        reproduced=built.cold.reproduced,
        explanation=explain_verdict(captured.verdict),
        command="python repro.py",
        is_from_cache=captured.verdict.is_from_cache or UNSET,
        is_raised_by_exported=_is_raised_by_exported(captured, built) or UNSET,
        derivative=checked if is_gradient and is_named else UNSET,
    )


def _is_raised_by_exported(captured: CapturedCall, built: BuiltRepro) -> bool:
    exports = built.candidate.assertion.compiler == Compiler.EXPORT
    is_crash = captured.verdict.kind == Kind.CRASH
    return exports and is_crash and is_raised_by_exported(built.cold.failure)


def _build_requirements(built: BuiltRepro) -> Requires:
    assertion = built.candidate.assertion
    return Requires(
        backward=assertion.backward != Differentiation.NONE,
        dynamic=assertion.read_dynamic(),
        mode=assertion.read_mode(),
        config={name: ast.literal_eval(value) for name, value in assertion.config},
        contexts=assertion.contexts,
    )


def _choose_labels(captured: CapturedCall, built: BuiltRepro, torch: str) -> list[str]:
    failure = built.cold.failure
    outcome = {row.rung: row.outcome for row in built.details.ablation}
    right = outcome.get(f"{Backend.INDUCTOR}{DYNAMIC_SUFFIX}False")
    grounds = LabelGrounds(
        cpu_only="cpp" in json.dumps(failure.get("frames", []) if failure else [])
        or shorten_message(failure).startswith("error:"),
        dynamic_false_fixes=right == RungOutcome.OK
        and outcome.get(Backend.INDUCTOR) not in (RungOutcome.OK, RungOutcome.SKIPPED)
        and built.candidate.assertion.read_dynamic() is True,
        earlier_release_right=bool(
            find_regressions(torch, [row.to_json() for row in built.details.differs_from])
        ),
        signal=built.cold.signal,
        operators=list_operators(built.program.harness),
    )
    return choose_labels(captured.verdict.kind, captured.verdict.layer, True, grounds)


def _write_public_signature(captured: CapturedCall) -> str:
    """The signature without its message, whose words may be the program's."""
    return (
        replace(captured.verdict.signature, message=None).describe()
        if captured.verdict.signature
        else captured.verdict.kind
    )


def _build_issue(
    captured: CapturedCall, built: BuiltRepro, to: Destination, form: IssueForm
) -> IssueSection:
    """What the issue says beside the report's numbers, with the whole log."""
    environment = build_section(EnvironmentSection, captured.surroundings.environment)
    failure = built.cold.failure
    log = (failure.get("traceback", "") if failure else "") or built.cold.find_stacks()
    return structs.replace(
        make_issue(to, form, built.program.text, environment, log),
        culprit=suspect.describe_location(built.details.culprit) if built.details.culprit else "",
        workaround=_describe_workaround(built),
    )


def _make_other_path(number: int) -> str:
    return f"other_findings/finding{number}.py"


def _describe_workaround(built: BuiltRepro) -> str:
    """The smallest set of settings under which the repro is right and still compiled; empty where
    there is none.
    """
    culprit = built.details.culprit
    if culprit is None or not culprit.workaround or culprit.confirmed is False:
        return ""
    if culprit.on_call is False:
        return ""  # it helps the repro alone
    if any("suppress_errors" in setting for setting in culprit.workaround):
        return ""  # nothing is compiled then, which is no way around the failure
    settings = " and ".join(f"`{setting}`" for setting in culprit.workaround)
    return f"with {settings} it is right{describe_on_call(culprit)}"


def _build_private_files(captured: CapturedCall, built: BuiltRepro) -> dict[str, bytes | str]:
    private: dict[str, bytes | str] = {
        "original.log": captured.script.output,
        "ladder.json": json.dumps([row.to_json() for row in captured.verdict.ladder], indent=2),
        "diagnosis.json": json.dumps(
            {
                "summary": captured.verdict.summary,
                "reproduced": captured.verdict.reproduced,
                **captured.verdict.details.to_json(),
            },
            indent=2,
        ),
    }
    if built.details.measured is not None:
        private["pictures.json"] = json.dumps({"cells": built.details.measured.cells})
    if built.search.unverified:
        rows = [{**other.to_json(), "candidate": other.text} for other in built.search.unverified]
        private["other_findings.json"] = json.dumps(rows, indent=2)
    content = built.candidate.content
    names: Json = {}
    classes: Mapping[str, Sequence[str]] = {}
    if isinstance(content, RewrittenProgram):
        names, classes = {"names": dict(content.program.private.reverse)}, map_classes(content)
    elif captured.material.whole is not None:
        names = map_names(captured)
        classes = names["classes"]
    if names:
        private[MAPPING] = json.dumps(names, indent=2, ensure_ascii=False)
    if captured.material.whole is not None:
        private["side_by_side.html"] = render_side_by_side(
            built.program.text, classes, captured.material.sources, _describe_proof(captured, built)
        )
    for number, answer in enumerate(built.cold.answers):
        private[f"cold-{number}.json"] = json.dumps(answer.to_json(), indent=2)
    return private


def _describe_proof(captured: CapturedCall, built: BuiltRepro) -> Json:
    """What a reader of the side-by-side page wants to know of the proof and of the search."""
    proof = describe_equivalence(captured, built.candidate.content)
    return {
        "outputs with the private weights": proof.outputs.how,
        "gradients": proof.gradients.how,
        "operators": (
            f"{proof.operators.count},"
            f" {'the same' if proof.operators.same else 'not all the same'}"
        ),
        "operations replaced by stand-ins": (
            ", ".join(sorted((proof.stand_ins or {}).values())) or "none"
        ),
        "private files whose words were looked for": len(captured.material.sources),
    }
