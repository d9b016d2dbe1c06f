"""A script whose failure is in a Triton kernel of its own, through the stages of `create`."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from msgspec.structs import replace

from anonymizer.source.triton_kernel import KernelNotPublicError, rebuild
from collectors.protocol.kernels import (
    KernelConstant,
    KernelLaunch,
    KernelsAnswer,
    KernelSpec,
    TargetAnswer,
)
from collectors.protocol.words import KernelOutcome
from reporter.core.answer import Answer
from reporter.core.errors import CannotJudgeError
from reporter.core.formatting import count_lines, format_program
from reporter.core.kinds import CandidateOutcome, Kind, RungOutcome
from reporter.execution.fresh_process import run_cold
from reporter.kernels.questions import ask, defines_kernels, has_gpu
from reporter.kernels.reduce import KernelCandidate, reduce_kernel
from reporter.kernels.report import (
    FinishedKernel,
    KernelTexts,
    build_kernel_report,
    check_kernel_report,
)
from reporter.kernels.search import KernelSearch, ask_target
from reporter.kernels.verdict import KernelVerdict, classify_outcome, judge
from reporter.pipeline.optional_measurements import OptionalMeasurements
from reporter.pipeline.run import FRESH_PROCESSES, Run
from reporter.publish.report_files import Outgoing
from reporter.publish.result import NO_BUG, RunResult
from reporter.report.folder import MAPPING, REPRO, TEST
from reporter.report.sections.base import build_section
from reporter.report.sections.finished_repro import ReproInfo, TestSection
from reporter.report.sections.measurements import RungRow
from reporter.report.sections.report_document import Report
from reporter.report.sections.triton import LaunchSection, TritonSection
from templates.kernel import render_kernel_test, render_repro


@dataclass(frozen=True)
class KernelAnswers:
    """What the target said of the script's kernels; `source` is the script's text."""

    source: str
    compiled: KernelsAnswer
    interpreted: KernelsAnswer


@dataclass(frozen=True)
class DiagnosedKernel:
    """The verdict on the script's kernels, as a report without a repro."""

    answers: KernelAnswers
    verdict: KernelVerdict
    report: Report

    @property
    def is_bug(self) -> bool:
        """Whether Triton's compiler is at fault."""
        return self.verdict.is_bug


@dataclass(frozen=True)
class ReducedKernel:
    """The smallest kernel in public names that still fails as `wanted`.

    `names` maps private to public ones. `tried` kernels were compiled for it; `history` has
    (kernels tried, statements, lines), each time it got smaller.
    """

    found: DiagnosedKernel
    kernel: KernelCandidate
    names: Mapping[str, str]
    wanted: TargetAnswer
    tried: int
    history: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class VerifiedKernel:
    """The repro's text and what fresh processes showed of it; `hits` are those that failed."""

    reduced: ReducedKernel
    text: str
    cold: tuple[Answer, ...]
    hits: tuple[Answer, ...]


class TritonProgram:
    """The kernels that a script defines itself. Where there is a GPU they run on it, so that the
    script is looked at like any other.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.options, self.progress = run.options, run.progress
        self.info = run.interpreters.own

    @staticmethod
    def fits(run: Run) -> bool:
        """Whether the script defines kernels that this machine has no GPU for."""
        options, goal = run.options, run.goal
        if options.script is None or goal.as_whole or goal.resumed is not None:
            return False
        return not has_gpu() and defines_kernels(options.cwd / options.script)

    def resume(self) -> None:
        """A run that looks at kernels is short and begins anew."""

    def record(self) -> KernelAnswers | None:
        """What the compiler and the interpreter make of each kernel; None if none was launched.

        Raises:
            CannotJudgeError: there is no Triton.
        """
        assert self.options.script is not None
        script = (self.options.cwd / self.options.script).resolve()
        source = script.read_text(encoding="utf-8", errors="replace")
        self.progress.begin_stage(
            "kernels", "Triton's interpreter, then its compiler for each target, without a GPU"
        )
        arguments = list(self.options.args)
        compiled = self._ask({"what": "compile", "script": str(script), "args": arguments})
        if compiled.get("missing") and _needs_triton(source):
            raise CannotJudgeError(
                f"{self.options.script} has Triton kernels, but there is no Triton in"
                f" {self.info.path}; install it there (`pip install triton`), or name another"
                " interpreter with --python"
            )
        if not compiled.get("launches"):
            why = compiled.get("skipped", "the script launched none")
            self.progress.note(f"no kernel was compiled: {why}")
            return None
        interpreted = self._ask({"what": "interpret", "script": str(script), "args": arguments})
        return KernelAnswers(source, compiled, interpreted)

    def diagnose(self, recorded: KernelAnswers) -> DiagnosedKernel | None:
        """The verdict; None where the kernels are right and torch.compile may be at fault."""
        verdict = judge(recorded.interpreted, recorded.compiled, recorded.source)
        if verdict.kind == Kind.NOT_REPRODUCED and "torch.compile" in recorded.source:
            return None
        report = build_kernel_report(verdict, recorded.interpreted, recorded.compiled, self.info)
        return DiagnosedKernel(recorded, verdict, report)

    def capture(self, found: DiagnosedKernel) -> DiagnosedKernel:
        """The answers hold the launches already."""
        return found

    def conclude(self, found: DiagnosedKernel, reason: CannotJudgeError | None = None) -> RunResult:
        """The verdict alone; with a `reason`, why there is no repro."""
        lines = tuple(_render_lines(found.report))
        if reason is not None:
            code = CannotJudgeError.exit_code
            return RunResult(found.report, code, (*lines, f"No repro: {reason}."))
        return RunResult(found.report, 0 if found.is_bug else NO_BUG, lines)

    def reduce(self, found: DiagnosedKernel) -> ReducedKernel:
        """The smallest kernel in public names that fails for the target in the same way.

        Raises:
            CannotJudgeError: there is no public form, or if it does not fail.
        """
        wanted = found.verdict.answer
        assert wanted is not None
        self.progress.begin_stage("rewrite", "the kernel in public names")
        first, names = _rewrite_in_public(found)
        search = KernelSearch(self._ask, wanted, self.progress)
        if not search.attempt([first])[0]:
            raise CannotJudgeError(
                "the kernel in public names does not fail in the same way, so it is not reported"
            )
        self.progress.begin_stage("reduce", f"from {first.statements} statements")
        kernel = reduce_kernel(first, search.attempt)
        return ReducedKernel(found, kernel, names, wanted, search.tried, tuple(search.history))

    def verify(self, reduced: ReducedKernel) -> VerifiedKernel:
        """The formatted text in fresh processes.

        Raises:
            CannotJudgeError: none of them fails.
        """
        self.progress.begin_stage("verify", f"{FRESH_PROCESSES} fresh processes")
        text = _render_formatted(render_repro, reduced)
        cold = tuple(self._run_cold(text) for _ in range(FRESH_PROCESSES))
        hits = tuple(answer for answer in cold if _shows(answer, reduced.wanted))
        if not hits:
            raise CannotJudgeError(
                f"the reduced kernel fails in none of {FRESH_PROCESSES} fresh processes, so it is"
                " not reported"
            )
        return VerifiedKernel(reduced, text, cold, hits)

    def measure(self, verified: VerifiedKernel) -> FinishedKernel:
        """The other targets and the regression test, on the final text."""
        reduced, found = verified.reduced, verified.reduced.found
        extras = OptionalMeasurements(self.progress, not self.options.quick, self.run.budget.end)
        no_rows: tuple[RungRow, ...] = ()
        test = _render_formatted(render_kernel_test, reduced)
        with extras.hold_interrupts():
            ladder = extras.measure(
                "ablation",
                f"seen in {len(verified.hits)} of {len(verified.cold)}; every other target",
                lambda: self._try_other_targets(found.report, reduced.kernel),
                no_rows,
            )
            fails = extras.measure(
                "test",
                "the regression test",
                lambda: _shows(self._run_cold(test), reduced.wanted),
                False,
            )
        seconds = round(self.run.budget.elapsed, 1)
        report = _build_report(verified, ladder, TestSection(path=TEST, fails_here=fails), seconds)
        mapping = {"names": {value: key for key, value in reduced.names.items()}}
        compiled = found.answers.compiled
        private = {
            MAPPING: json.dumps(mapping, indent=2),
            "kernels.json": json.dumps(compiled["launches"], indent=2),
        }
        texts = KernelTexts(verified.text, test, verified.hits[0].stderr)
        return FinishedKernel(
            report, texts, found.answers.source, compiled, private, tuple(extras.left_out)
        )

    def check_leaks(self, finished: FinishedKernel) -> Outgoing:
        """The report as it leaves.

        Raises:
            LeakError: something private was found.
            UsageError: a form of the user's own cannot be filled in.
        """
        to = self.run.begin_leak_check(finished.left_out)
        return check_kernel_report(to, finished, str(self.options.script), self.progress.note)

    def _ask(self, spec: KernelSpec) -> KernelsAnswer:
        return ask(self.info.path, spec, self.options.cwd, self.options.timeout)

    def _try_other_targets(self, report: Report, kernel: KernelCandidate) -> tuple[RungRow, ...]:
        """The rungs of the reduced kernel for each target; what the interpreter made of the script
        says nothing about it.
        """
        rungs = []
        for rung in report.ladder:
            if rung.rung == "interpreter":
                continue
            if rung.outcome == RungOutcome.SKIPPED:
                rungs.append(rung)
                continue
            answer = ask_target(self._ask, [kernel], rung.rung)[0]
            said, seconds = answer["message"], answer.get("seconds")
            rungs.append(RungRow(rung.rung, classify_outcome(answer), said, seconds=seconds))
        return tuple(rungs)

    def _run_cold(self, text: str) -> Answer:
        return run_cold(self.info.path, text, self.options.timeout, describe=False)


def _build_report(
    verified: VerifiedKernel, ladder: tuple[RungRow, ...], test: TestSection, seconds: float
) -> Report:
    """The report of a kernel with its repro; `ladder` has a row for every other target, `seconds`
    are those of the run so far.
    """
    reduced, before = verified.reduced, verified.reduced.found.report
    asked = [row for row in ladder if row.outcome != RungOutcome.SKIPPED]
    return replace(
        before,
        verdict=replace(
            before.verdict,
            summary=_summarize(reduced.wanted),
            reproduced=(len(verified.hits), len(verified.cold)),
            command="python repro.py",
        ),
        ladder=ladder,
        repro=ReproInfo(
            path=REPRO,
            statements=reduced.kernel.statements,
            lines=count_lines(verified.text),
            operators=(),
            verified_cold=True,
            candidates=reduced.tried + len(asked),
            seconds=seconds,
        ),
        triton=TritonSection(
            version=reduced.found.answers.compiled.get("triton"),
            target=reduced.wanted["target"],
            mlir_pass=reduced.wanted.get("pass"),
            launch=build_section(LaunchSection, reduced.kernel.launch),
        ),
        test=test,
        reduction=reduced.history,
    )


def _shows(answer: Answer, wanted: TargetAnswer) -> bool:
    """Whether a fresh process failed, with what the compiler said before."""
    if wanted["outcome"] == KernelOutcome.DIED:
        return answer.outcome == CandidateOutcome.DIED and answer.signal == wanted["signal"]
    said = wanted["exception"] or ""
    return answer.outcome == CandidateOutcome.FAILS and said.rpartition(".")[2] in answer.stderr


def _render_formatted(render: Any, reduced: ReducedKernel) -> str:
    """A program of the kernel, formatted."""
    kernel, wanted = reduced.kernel, reduced.wanted
    return format_program(
        render(kernel.text, kernel.name, kernel.launch, wanted["target"], _summarize(wanted))
    )


def _summarize(wanted: TargetAnswer) -> str:
    """What the verdict says, in words of ours and of the compiler."""
    how = (
        f"dies with {wanted['signal']}"
        if wanted["outcome"] == KernelOutcome.DIED
        else f"fails with {wanted['exception']}"
    )
    where = f" in the pass {wanted['pass']}" if wanted.get("pass") else ""
    return f"Compiling the kernel for {wanted['target']} {how}{where}."


def _rewrite_in_public(found: DiagnosedKernel) -> tuple[KernelCandidate, dict[str, str]]:
    """The failing kernel in public names, and the names by which it was known.

    Raises:
        CannotJudgeError: it has no public form.
    """
    wanted = found.verdict.launch
    assert wanted is not None
    try:
        public = rebuild(
            found.answers.source, wanted["kernel"], found.answers.compiled.get("vocabulary", ())
        )
        constants = {
            public.parameters[name]: cast(KernelConstant, public.rewrite_constant(value))
            for name, value in wanted["constexprs"].items()
        }
    except KernelNotPublicError as reason:
        raise CannotJudgeError(
            f"the kernel has no public form ({reason}), so there is no repro to report"
        ) from None
    new = public.parameters
    launch: KernelLaunch = {
        "signature": {new[name]: kind for name, kind in wanted["signature"].items()},
        "constexprs": constants,
        "aligned": [new[name] for name in wanted["aligned"]],
        "options": wanted["options"],
    }
    return KernelCandidate(public.text, public.kernel, launch), dict(public.mapping)


def _needs_triton(source: str) -> bool:
    """Whether the script imports Triton at its top, where nothing catches that it is missing."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return False
    names = [
        name
        for node in body
        for name in (
            [item.name for item in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    ]
    return any(name.split(".")[0] == "triton" for name in names)


def _render_lines(report: Report) -> list[str]:
    word = "bug" if report.verdict.is_bug else "no bug to report"
    rows = [f"  {row.rung:11}  {row.outcome:8} {row.detail}".rstrip() for row in report.ladder]
    head = f"verdict: {report.verdict.kind} in triton ({word})"
    return [*rows, head, report.verdict.summary, "", report.verdict.explanation]
