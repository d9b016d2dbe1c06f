"""Renders the report's documents from one `Report`, checks their bytes for leaks, and writes them
as a whole or not at all.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from anonymizer.leakcheck.audit import Identity, count_terms
from reporter.core.formatting import format_program
from reporter.core.kinds import BELOW_INDUCTOR, CRASHES, Compiler, Kind, RungOutcome
from reporter.core.operators import name_operators, operators
from reporter.core.plain import Json
from reporter.core.settings import IssueOptions
from reporter.core.signature import Signature
from reporter.core.version import VERSION
from reporter.diagnose.details import suspect
from reporter.diagnose.explain import explanation
from reporter.evidence.repro import ReproEvidence
from reporter.evidence.trace import checksums
from reporter.execution import control
from reporter.execution.interpreter import InterpreterInfo
from reporter.publish.allow_list import (
    GATE,
    TRACE,
    AllowList,
    check_outgoing,
    public_values,
    refuse_leaks,
)
from reporter.publish.documents import remember, render
from reporter.publish.form import choose
from reporter.publish.private_terms import collect_terms, find_left_over
from reporter.publish.rerender import for_later
from reporter.publish.result import (
    EVIDENCE,
    JOURNAL,
    RECORDING,
    BuiltRepro,
    RunResult,
)
from reporter.publish.summary import Summary
from reporter.reduce.source_candidates import Rewritten, statements
from reporter.report.captured_call import CapturedCall
from reporter.report.fingerprint import Fingerprint, fingerprint
from reporter.report.folder import write_report
from reporter.report.labels import labels
from reporter.report.sections import (
    AuditSummary,
    ContrastSection,
    FailureSection,
    NeighbourRow,
    OtherFinding,
    Report,
    ReproInfo,
    Requires,
    StageRow,
    StockDifference,
    Verdict,
    section,
)
from reporter.store.reports import key_of
from reporter.whole_model.source_model import classes as source_classes
from reporter.whole_model.traced_model import describe_equivalence, mapping
from templates.forms import IssueForm
from templates.material import IssueMaterial
from templates.regression import render_test
from templates.releases import regressions
from templates.side_by_side import side_by_side
from templates.text import tidy_log

#: What torch tells a user to set, at the end of a line that names a problem.
_ADVICE = re.compile(r"\s*(?:For more information, run with|Set) TORCH\w*=.*$")
#: `Constraints violated (d0)!`, and the first of the points below it.
_POINT = re.compile(r"^(?P<heading>\S.*[:!.])\n\s+- (?P<first>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Destination:
    """Where a report goes: what its issue was to say, the folder that the program ran in, its
    interpreter, the report's folder, the wall seconds that the run took, what its stages used, and
    those that it left out.
    """

    issue: IssueOptions
    cwd: Path
    info: InterpreterInfo
    output: Path
    seconds: float
    timing: dict[str, StageRow] = field(default_factory=dict)
    not_measured: tuple[str, ...] = ()

    def place(self, form: IssueForm) -> str:
        """The project to file in, as the command line has it; words for one that is not known."""
        return self.issue.repo or form.repository or "OWNER/REPO"


@dataclass(frozen=True)
class Outgoing:
    """A report that passed the leak check: what leaves by its name, what stays, and the
    summary that is printed at the end.

    `kept` are names below `private/` that an interrupted run has left and that stay as they are.
    """

    summary: Summary
    files: Mapping[str, str]
    private: Mapping[str, bytes | str]
    kept: tuple[str, ...] = ()


def audit(
    destination: Destination,
    captured: CapturedCall,
    built: BuiltRepro,
    found: ReproEvidence | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Outgoing:
    """Renders, lints and audits the report; `note` gets what the lint found.

    What the compiler made of the repro (`found`) is full of words of its own; where one of them is
    also a private name, the excerpt stays behind rather than the report.

    Raises LeakError, and then no outgoing file is written; UsageError where a form of the user's
    own cannot be filled in.
    """
    options, info = destination.issue, destination.info
    terms = collect_terms(options, captured, built, destination.cwd)
    identity = Identity.of_this_machine()
    environment = captured.surroundings.environment
    public = public_values(environment, environment.get("git"), info.torch_git)
    allowing = AllowList(terms, captured.surroundings.internals, public)
    form = choose(options, captured.verdict.layer, captured.verdict.is_request)
    for evidence in (*(found.less_and_less() if found else ()), None):
        report = _report(captured, built, destination, count_terms(terms, identity), form, evidence)
        material = _material(options, captured, built, form, evidence)
        report, files = _files(built, report, material, form, note)
        if evidence and evidence.trace:
            files[TRACE] = evidence.trace
        result = check_outgoing(
            files,
            terms,
            internals=allowing.internals,
            identity=identity,
            allowed=(
                *allowing.allowed,
                key_of(built.program.text),
                *(checksums(evidence.trace) if evidence else ()),
            ),
        )
        if result.passed:
            break
    private = _private(captured, built)
    private.update({GATE: allowing.dumps(), **for_later(form, files)})
    refuse_leaks(result.findings, "no report was written", destination.output)
    summary = Summary(
        report,
        destination.output,
        captured.surroundings.python,
        destination.place(form),
        material.culprit,
        material.workaround or _right_backend(report),
    )
    return Outgoing(summary, files, private, (RECORDING, JOURNAL, EVIDENCE))


def publish(outgoing: Outgoing, overwrite: bool) -> RunResult:
    """Writes the report folder as a whole and notes it in the store.

    `overwrite` allows a folder that holds a report already. Raises UsageError.
    """
    summary, files = outgoing.summary, outgoing.files
    write_report(summary.output, files, outgoing.private, replace=overwrite, kept=outgoing.kept)
    lines = (*remember(summary.output, summary.report, files), *summary.lines())
    return RunResult(summary.report, 0, lines, summary.output, summary)


def short_message(failure: Mapping[str, Any]) -> str:
    """The line of an exception that names the problem, without the advice behind it; of a heading
    with a list below it the first point as well. Empty where there is no exception.

    At most 500 characters.
    """
    line = _ADVICE.sub("", str(failure.get("first_line", "")))
    point = _POINT.match(str(failure.get("message", "")))
    if point and line and line == _ADVICE.sub("", point["heading"]):
        line = f"{line} {point['first']}"
    return tidy_log(line)[:500]


def _report(
    captured: CapturedCall,
    built: BuiltRepro,
    destination: Destination,
    terms: int,
    form: IssueForm,
    found: ReproEvidence | None,
) -> Report:
    info = destination.info
    count = built.program.operations
    count = statements(built.candidate) if count is None else count
    repro = ReproInfo(
        path="repro.py",
        statements=count,
        lines=len([line for line in built.program.text.splitlines() if line.strip()]),
        operators=name_operators(built.program.harness, captured.verdict.layer),
        verified_cold=built.cold.hits > 0,
        candidates=built.search.counts.settled,
        seconds=round(destination.seconds, 1),
        neighbours=tuple(
            NeighbourRow(f"{near.what}: {near.to}", near.fails) for near in built.details.neighbours
        ),
        compiler=Compiler(built.candidate.check.compiler),
        control=tuple(control.command(built.program.text) or ()) or None,
        eager_error=built.details.eager_error,
    )
    others = [
        section(OtherFinding, {**other.to_json(), "path": _other_path(number)})
        for number, other in enumerate(built.search.others, 1)
    ]
    signature, measured = _shown_crash(captured, built), built.details.measured
    whole, stock = captured.material.whole is not None, built.search.different
    return Report(
        verdict=_verdict(captured, built),
        ladder=built.details.ablation,
        torch=info.torch,
        python=info.version,
        device=captured.device,
        requires=_requires(built),
        repro=repro,
        labels=form.allow(_labels(captured, built, info.torch)),
        other_findings=tuple(others),
        audit=AuditSummary(True, terms, ()),
        differs_from=tuple(section(ContrastSection, row) for row in built.differs_from) or None,
        culprit=built.details.culprit,
        sizes_left=(sizes := tuple(find_left_over(captured, built))),
        numbers_left=tuple(n for n in built.numbers_left if n not in sizes) or None,
        equivalence=describe_equivalence(captured, built.candidate.content) if whole else None,
        differs_from_stock=section(StockDifference, stock) if whole and stock else None,
        failure=section(FailureSection, signature.to_json()) if signature else None,
        fingerprint=_fingerprint(captured, built).section(),
        reduction=built.search.history,
        evidence=found.section() if found else None,
        pictures=measured.numbers if measured else None,
        test=measured.shown if measured else None,
        # an interrupted run had stages that this one has not gone through
        timing={**(captured.verdict.details.timing or {}), **destination.timing},
        not_measured=destination.not_measured or None,
    )


def _fingerprint(captured: CapturedCall, built: BuiltRepro) -> Fingerprint:
    return fingerprint(
        captured.verdict.kind,
        captured.verdict.layer,
        operators(built.program.harness),
        built.cold.failure,
        built.cold.signal,
    )


def _shown_crash(captured: CapturedCall, built: BuiltRepro) -> Signature | None:
    """The crash as a fresh process showed it, in the form in which `check` compares it on other
    releases.
    """
    if captured.verdict.kind not in CRASHES or captured.verdict.signature is None:
        return None
    return built.cold.find_crash(captured.verdict.signature)


def _verdict(captured: CapturedCall, built: BuiltRepro) -> Verdict:
    failure = built.cold.failure
    crash = captured.verdict.kind in CRASHES
    summary, message = built.summary, str(failure.get("message", "")) or None
    if captured.verdict.kind == Kind.PROCESS_DEATH:
        summary, message = built.cold.describe_death(built.summary)
    told = captured.verdict.told_kind
    return Verdict(
        kind=told,
        layer=captured.verdict.layer,
        is_bug=not captured.verdict.is_request,
        summary=summary,
        signature=_public_signature(captured),
        exception=str(failure.get("exception")) if crash else built.cold.signal,
        message=short_message(failure) if crash else message,
        reproduced=built.cold.reproduced,
        explanation=explanation(captured.verdict),
        command="python repro.py",
    )


def _requires(built: BuiltRepro) -> Requires:
    check = built.candidate.check
    given = dict(check.arguments)
    dynamic = {"True": True, "False": False}.get(given.get("dynamic", ""))
    return Requires(
        backward=check.backward != "none",
        dynamic=dynamic,
        mode=given.get("mode", "").strip("'") or None,
        config={name: ast.literal_eval(value) for name, value in check.config},
        contexts=check.contexts,
    )


def _labels(captured: CapturedCall, built: BuiltRepro, torch: str) -> list[str]:
    failure = built.cold.failure
    outcome = {row.rung: row.outcome for row in built.details.ablation}
    given = dict(built.candidate.check.arguments)
    right = outcome.get("inductor, dynamic=False")
    wrong = outcome.get("inductor" if given.get("dynamic") == "True" else "inductor, dynamic=True")
    return labels(
        captured.verdict.kind,
        captured.verdict.layer,
        True,
        cpu_only="cpp" in json.dumps(failure.get("frames", []))
        or short_message(failure).startswith("error:"),
        dynamic_false_fixes=right == RungOutcome.OK
        and wrong not in (RungOutcome.OK, RungOutcome.SKIPPED)
        and given.get("dynamic") == "True",
        earlier_release_right=bool(regressions(torch, built.differs_from)),
        signal=built.cold.signal,
        operators=operators(built.program.harness),
    )


def _public_signature(captured: CapturedCall) -> str:
    """The signature without its message, whose words may be the program's."""
    return (
        replace(captured.verdict.signature, message=None).text()
        if captured.verdict.signature
        else captured.verdict.kind
    )


def _files(
    built: BuiltRepro,
    report: Report,
    material: IssueMaterial,
    form: IssueForm,
    note: Callable[[str], None],
) -> tuple[Report, dict[str, str]]:
    """The report as it is written, and what may leave by its name in the folder.

    Raises UsageError.
    """
    measured = built.details.measured
    return render(
        report,
        material,
        form,
        (
            measured.test
            if measured
            else format_program(render_test(report.to_json(), built.program.text))
        ),
        note,
        cells=measured.cells if measured else (),
        others={
            _other_path(number): other.text for number, other in enumerate(built.search.others, 1)
        },
    )


def _material(
    options: IssueOptions,
    captured: CapturedCall,
    built: BuiltRepro,
    form: IssueForm,
    found: ReproEvidence | None,
) -> IssueMaterial:
    """What the issue says beside the report's numbers."""
    log = str(built.cold.failure.get("traceback", "")) or built.cold.stacks()
    return IssueMaterial(
        repro=built.program.text,
        environment={
            **captured.surroundings.environment,
            **({"vector_isa": found.vector_isa} if found and found.vector_isa else {}),
        },
        version=VERSION,
        error_log=log,
        culprit=suspect.location(built.details.culprit) if built.details.culprit else "",
        workaround=_workaround(built),
        human_words=options.summary or "",
        key=key_of(built.program.text),
        form=form.public_name,
        excerpt=asdict(found.excerpt) if found and found.excerpt else None,
    )


def _other_path(number: int) -> str:
    return f"other_findings/finding{number}.py"


def _workaround(built: BuiltRepro) -> str:
    """The smallest set of settings under which the repro is right and still compiled; empty where
    there is none.
    """
    culprit = built.details.culprit
    if culprit is None or not culprit.workaround or culprit.confirmed is False:
        return ""
    if any("suppress_errors" in setting for setting in culprit.workaround):
        return ""  # nothing is compiled then, which is no way around the failure
    return f"with {' and '.join(f'`{setting}`' for setting in culprit.workaround)} it is right"


def _right_backend(report: Report) -> str:
    """The backend nearest to the user's under which the repro is right, for the user's own sake."""
    right = [
        row.rung
        for row in report.ladder
        if row.outcome == RungOutcome.OK and row.rung in BELOW_INDUCTOR
    ]
    return f'`torch.compile(backend="{right[-1]}")` is right' if right else ""


def _private(captured: CapturedCall, built: BuiltRepro) -> dict[str, bytes | str]:
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
    if isinstance(content, Rewritten):
        names, classes = {"names": dict(content.program.reverse)}, source_classes(content)
    elif captured.material.whole is not None:
        names = mapping(captured)
        classes = names["classes"]
    if names:
        private["mapping.json"] = json.dumps(names, indent=2, ensure_ascii=False)
    if captured.material.whole is not None:
        private["side_by_side.html"] = side_by_side(
            built.program.text, classes, captured.material.sources, _facts(captured, built)
        )
    for number, answer in enumerate(built.cold.answers):
        private[f"cold-{number}.json"] = json.dumps(answer.to_json(), indent=2)
    return private


def _facts(captured: CapturedCall, built: BuiltRepro) -> Json:
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
