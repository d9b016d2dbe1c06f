"""What the report of a Triton kernel says: the same files as any other, from a document whose
ladder is made of targets.

The leak check has Triton's own words instead of torch's, since it is Triton's sources that a
traceback quotes. Numbers of the private kernel that the failure needs are listed, as sizes are
elsewhere; one that turns up anywhere else withholds the report.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from anonymizer.leakcheck.scanner import Terms, collect_private_terms
from collectors.protocol.kernels import KernelsAnswer, TargetAnswer
from reporter.core.kinds import Kind, Layer, RungOutcome
from reporter.execution.interpreter import InterpreterInfo
from reporter.kernels.verdict import KernelVerdict, classify_outcome, normalize_message
from reporter.publish.form import choose_form
from reporter.publish.leak_check import AllowList
from reporter.publish.report_files import (
    Destination,
    Draft,
    Outgoing,
    build_outgoing,
    make_issue,
)
from reporter.publish.surroundings import find_terms
from reporter.publish.versions import collect
from reporter.report.fingerprint import Fingerprint
from reporter.report.sections.base import build_section
from reporter.report.sections.measurements import RungRow
from reporter.report.sections.report_document import Report
from reporter.report.sections.triton import TritonSection
from reporter.report.sections.verdict import Verdict

_EXPLANATIONS = {
    Kind.CRASH: (
        "The kernel passes Triton's front end, which is what refuses kernels that are wrong; what"
        " fails is the compiler behind it."
    ),
    Kind.PROCESS_DEATH: (
        "The compiler ends the process while it works on a kernel that its front end has accepted;"
        " no Python exception reaches the program."
    ),
    Kind.INVALID_PROGRAM: (
        "The kernel does not say what its author means, so there is nothing to report about"
        " Triton's compiler."
    ),
    Kind.NOT_REPRODUCED: (
        "Neither the interpreter nor the compiler for any target does anything wrong with these"
        " kernels."
    ),
}
_PUBLIC_ERRORS = frozenset(dir(builtins)) | {"InterpreterError", "CompilationError"}


@dataclass(frozen=True)
class KernelTexts:
    """The repro, its regression test, and what the compiler wrote when it failed."""

    repro: str
    test: str
    log: str


@dataclass(frozen=True)
class FinishedKernel:
    """A reduced kernel: the report's numbers, the texts, and what stays on this machine.

    `source` is the private script, `compiled` the target's answer about it (see
    `collectors.triton.run`).
    """

    report: Report
    texts: KernelTexts
    source: str
    compiled: Mapping[str, object]
    private: Mapping[str, str]
    left_out: tuple[str, ...] = ()


def build_kernel_report(
    verdict: KernelVerdict,
    interpreted: KernelsAnswer,
    compiled: KernelsAnswer,
    info: InterpreterInfo,
) -> Report:
    """The report of a verdict without its repro: what the interpreter and the compiler said.

    Args:
        interpreted: how the script ended under Triton's interpreter.
        compiled: its launches, at least one, with what each target said of them.
        info: the interpreter of Python that both ran in.
    """
    answer: TargetAnswer = verdict.answer or {}
    return Report(
        Verdict(
            verdict.kind,
            Layer.TRITON,
            verdict.is_bug,
            verdict.summary,
            signature=f"{verdict.kind} in triton" if verdict.is_bug else "",
            exception=answer.get("exception") or answer.get("signal"),
            message=answer.get("message"),
            explanation=_EXPLANATIONS[verdict.kind],
            reproduced=(1, 1) if verdict.is_bug else (0, 0),
        ),
        tuple(_build_ladder(interpreted, compiled, verdict)),
        info.torch,
        info.version,
        answer.get("target") or "none",
        triton=build_section(
            TritonSection,
            {"version": compiled.get("triton"), "launches": compiled["launches"]},
        ),
    )


def _build_ladder(
    interpreted: KernelsAnswer, compiled: KernelsAnswer, verdict: KernelVerdict
) -> list[RungRow]:
    """A rung for the interpreter and one for each target, of the kernel that the verdict is about
    or else of the worst.
    """
    ending = interpreted.get("ending")
    if ending is None:
        why = interpreted.get("skipped", "")
        rows = [RungRow("interpreter", RungOutcome.SKIPPED, why)]
    else:
        raised = ending.get("exception", "")
        if raised and raised not in _PUBLIC_ERRORS:
            raised = "an exception of the script's own"
        outcome = RungOutcome.RAISES if ending["exit"] else RungOutcome.OK
        rows = [RungRow("interpreter", outcome, raised)]
    launch = verdict.launch or compiled["launches"][0]
    for item in launch["targets"]:
        row = RungRow(
            item["target"], classify_outcome(item), item["message"], seconds=item["seconds"]
        )
        rows.append(row)
    unsupported = compiled.get("unsupported", {})
    return rows + [RungRow(name, RungOutcome.SKIPPED, why) for name, why in unsupported.items()]


def check_kernel_report(
    to: Destination, finished: FinishedKernel, script: str, note: Callable[[str], None]
) -> Outgoing:
    """The report as it leaves.

    Args:
        to: where it goes, and how.
        script: the path of the private program.
        note: gets what the lint found.

    Raises:
        LeakError, UsageError: as `build_outgoing` does.
    """
    own, left = _collect_terms(to.issue.keep_source, script, finished)
    versions = collect(to.info.path)
    environment = versions.environment.to_json()
    words = _as_strings(finished.compiled.get("vocabulary"))
    terms = own.join(find_terms(to.cwd, environment, versions.withheld, words))
    form = choose_form(to.issue, Layer.TRITON)
    texts = finished.texts
    report = replace(
        finished.report,
        labels=form.allow(("bug",)),
        sizes_left=tuple(left),
        fingerprint=_compute_fingerprint(finished.report).to_section(),
        timing=to.used.timing or None,
        not_measured=to.used.not_measured or None,
        issue=make_issue(to, form, texts.repro, versions.environment, texts.log),
    )
    internals = _as_strings(finished.compiled.get("internals"))
    revisions = (environment.get("git"), to.info.torch_git)
    return build_outgoing(
        to,
        form,
        allowing=AllowList.build(terms, internals, environment, *revisions),
        drafts=[Draft(report, texts.repro, texts.test)],
        private=finished.private,
        note=note,
    )


def _collect_terms(
    is_public: bool, script: str, finished: FinishedKernel
) -> tuple[Terms, list[float]]:
    """What the report is searched for, and the numbers of the private script that its repro still
    needs.
    """
    public = frozenset(_as_strings(finished.compiled.get("vocabulary")))
    if is_public:
        return collect_private_terms({}, public), []
    terms = collect_private_terms({script: finished.source}, public)
    identifying = {*terms.everywhere.numbers, *terms.in_code.numbers}
    constants = (
        node.value
        for node in ast.walk(ast.parse(finished.texts.repro))
        if isinstance(node, ast.Constant)
    )
    numbers = {abs(float(value)) for value in constants if isinstance(value, (int, float))}
    left = sorted(numbers & identifying)
    return terms.without_numbers(left), left


def _as_strings(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()


def _compute_fingerprint(report: Report) -> Fingerprint:
    """By what the compiler says and where; a failure without words is like no other."""
    verdict, triton = report.verdict, report.triton
    words = normalize_message(verdict.message or "")
    failed = (triton.mlir_pass if triton else None) or ""
    if not words and not failed:
        return Fingerprint()
    # the same pass has a name of its own in each backend
    place = re.sub(r"AMD|NVIDIA", "", failed)
    return Fingerprint((Layer.TRITON, verdict.kind, str(verdict.exception), place, words))
