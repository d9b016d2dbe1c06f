"""`create` and `diagnose` for a script whose failure is in a Triton kernel of its own."""

from __future__ import annotations

import ast
import builtins
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from anonymizer.triton import KernelNotPublic, rebuild
from reporter.core.answer import Answer
from reporter.core.errors import CannotJudgeError
from reporter.core.formatting import format_program
from reporter.core.progress import Progress
from reporter.core.report import Report, ReproInfo, RungRow, Verdict
from reporter.core.settings import Options
from reporter.execution.fresh_process import run_cold
from reporter.execution.interpreter import InterpreterInfo
from reporter.kernels.ask import ask, defines_kernels, has_gpu
from reporter.kernels.publish import Finished, launch_text, publish
from reporter.kernels.reduce import KernelCandidate, smallest
from reporter.kernels.verdict import KernelVerdict, judge, same_failure
from reporter.publish.result import RunResult
from reporter.recording.call_session import Json
from templates.kernel import render_kernel_test, render_repro

_COLD_RUNS = 3
_EXPLANATIONS = {
    "crash": (
        "The kernel passes Triton's front end, which is what refuses kernels that are wrong; what"
        " fails is the compiler behind it."
    ),
    "process_death": (
        "The compiler ends the process while it works on a kernel that its front end has accepted;"
        " no Python exception reaches the program."
    ),
    "invalid_program": (
        "The kernel does not say what its author means, so there is nothing to report about"
        " Triton's compiler."
    ),
    "not_reproduced": (
        "Neither the interpreter nor the compiler for any target does anything wrong with these"
        " kernels."
    ),
}
_PUBLIC_ERRORS = frozenset(dir(builtins)) | {"InterpreterError", "CompilationError"}


def of_script(
    options: Options, info: InterpreterInfo, progress: Progress, output: Path | None
) -> RunResult | None:
    """The result for a script with kernels of its own; None where that says nothing, and the
    ordinary way goes on.

    Without `output` only the verdict. Where there is a GPU kernels run on it, and the ordinary way
    is the right one.

    Raises:
        CannotJudgeError: there is no Triton, or it is a bug but there is no public program that
            shows it.
        LeakError: the leak check refused.
    """
    if options.script is None or has_gpu() or not defines_kernels(options.cwd / options.script):
        return None
    started = time.monotonic()
    script = (options.cwd / options.script).resolve()
    source = script.read_text(encoding="utf-8", errors="replace")
    progress.stage(
        "kernels", "Triton's interpreter, then its compiler for each target, without a GPU"
    )
    spec = {"script": str(script), "args": list(options.args)}
    compiled = ask(info.path, {**spec, "what": "compile"}, options.cwd, options.timeout)
    if compiled.get("missing") and _needs_triton(source):
        raise CannotJudgeError(
            f"{options.script} has Triton kernels, but there is no Triton in {info.path}; install"
            " it there (`pip install triton`), or name another interpreter with --python"
        )
    if not compiled.get("launches"):
        progress.note(
            f"no kernel was compiled: {compiled.get('skipped', 'the script launched none')}"
        )
        return None
    interpreted = ask(info.path, {**spec, "what": "interpret"}, options.cwd, options.timeout)
    verdict = judge(interpreted, compiled, source)
    if verdict.kind == "not_reproduced" and "torch.compile" in source:
        return None
    report = _report(verdict, interpreted, compiled, info)
    if not verdict.is_bug or output is None:
        return RunResult(report, 0 if verdict.is_bug else 1, tuple(_lines(report)))
    writer = _Writer(options, info, progress, output, source, compiled, verdict, report)
    return writer.write(started)


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


def _report(
    verdict: KernelVerdict, interpreted: Json, compiled: Json, info: InterpreterInfo
) -> Report:
    answer = verdict.answer or {}
    return Report(
        Verdict(
            verdict.kind,
            "triton",
            verdict.is_bug,
            verdict.summary,
            signature=f"{verdict.kind} in triton" if verdict.is_bug else "",
            exception=answer.get("exception") or answer.get("signal"),
            message=answer.get("message"),
            explanation=_EXPLANATIONS[verdict.kind],
            reproduced=(1, 1) if verdict.is_bug else (0, 0),
        ),
        tuple(_ladder(interpreted, compiled, verdict)),
        info.torch,
        info.version,
        answer.get("target") or "none",
        details={"triton": {"version": compiled.get("triton"), "launches": compiled["launches"]}},
    )


def _ladder(interpreted: Json, compiled: Json, verdict: KernelVerdict) -> list[RungRow]:
    """A rung for the interpreter and one for each target, of the kernel that the verdict is about
    or else of the worst.
    """
    ending = interpreted.get("ending")
    if ending is None:
        rows = [RungRow("interpreter", "skipped", str(interpreted.get("skipped", "")))]
    else:
        raised = str(ending.get("exception", ""))
        if raised and raised not in _PUBLIC_ERRORS:
            raised = "an exception of the script's own"
        rows = [RungRow("interpreter", "raises" if ending["exit"] else "ok", raised)]
    launch = verdict.launch or compiled["launches"][0]
    for item in launch["targets"]:
        outcome = "raises" if item["outcome"] == "refused" else item["outcome"]
        rows.append(RungRow(item["target"], outcome, item["message"], seconds=item["seconds"]))
    rows += [RungRow(name, "skipped", why) for name, why in compiled.get("unsupported", {}).items()]
    return rows


def _lines(report: Report) -> list[str]:
    word = "bug" if report.verdict.is_bug else "no bug to report"
    rows = [f"  {row.rung:11}  {row.outcome:8} {row.detail}".rstrip() for row in report.ladder]
    head = f"verdict: {report.verdict.kind} in triton ({word})"
    return [*rows, head, report.verdict.summary, "", report.verdict.explanation]


class _Writer:
    """A bug as a report: the kernel in public names, reduced, shown again in fresh processes, and
    checked.
    """

    def __init__(
        self,
        options: Options,
        info: InterpreterInfo,
        progress: Progress,
        output: Path,
        source: str,
        compiled: Json,
        verdict: KernelVerdict,
        report: Report,
    ) -> None:
        assert verdict.launch is not None and verdict.answer is not None
        self.options, self.info, self.progress, self.output = options, info, progress, output
        self.source, self.compiled, self.report = source, compiled, report
        self.launch: Json = verdict.launch
        self.wanted: Json = verdict.answer
        self.target = str(self.wanted["target"])
        self.tried = 0
        self.trail: list[tuple[int, int, int]] = []

    def attempt(self, kernels: Sequence[KernelCandidate]) -> list[bool]:
        """Whether each kernel still fails for the target in the same way."""
        return [same_failure(self.wanted, answer) for answer in self._asked(kernels, self.target)]

    def _asked(self, kernels: Sequence[KernelCandidate], target: str) -> list[Json]:
        """What the compiler says of each kernel for one target."""
        self.tried += len(kernels)
        head = "import triton\nimport triton.language as tl\n\n"
        spec = {
            "what": "candidates",
            "kernel": kernels[0].name,
            "texts": [head + kernel.text for kernel in kernels],
            "launches": [kernel.launch for kernel in kernels],
            "target": target,
        }
        found = ask(self.info.path, spec, self.options.cwd, self.options.timeout)
        answers: list[Json] = found.get("answers", [])
        answers += [{"outcome": "broken", "message": ""}] * (len(kernels) - len(answers))
        for kernel, answer in zip(kernels, answers):
            if target == self.target and same_failure(self.wanted, answer):
                self._shrunk(kernel)
        return answers

    def _shrunk(self, kernel: KernelCandidate) -> None:
        """Notes a kernel that fails, if it is the smallest so far."""
        if not self.trail or kernel.statements < self.trail[-1][1]:
            lines = len([line for line in kernel.text.splitlines() if line.strip()])
            self.trail.append((self.tried, kernel.statements, lines))
            self.progress.update(self.tried, f"{kernel.statements} statements")

    def write(self, started: float) -> RunResult:
        self.progress.stage("rewrite", "the kernel in public names")
        first, names = self._public()
        if not self.attempt([first])[0]:
            raise CannotJudgeError(
                "the kernel in public names does not fail in the same way, so it is not reported"
            )
        self.progress.stage("reduce", f"from {first.statements} statements")
        kernel = smallest(first, self.attempt)
        self.progress.stage("verify", f"{_COLD_RUNS} fresh processes")
        text = self._text(render_repro, kernel)
        cold = [self._cold(text) for _ in range(_COLD_RUNS)]
        hits = [answer for answer in cold if self._shows(answer)]
        if not hits:
            raise CannotJudgeError(
                f"the reduced kernel fails in none of {_COLD_RUNS} fresh processes, so it is not"
                " reported"
            )
        self.progress.stage("ablation", f"seen in {len(hits)} of {len(cold)}; every other target")
        ladder = self._ablation(kernel)
        self.progress.stage("exhibits", "the regression test")
        test = self._text(render_kernel_test, kernel)
        fails = self._shows(self._cold(test))
        lines = len([line for line in text.splitlines() if line.strip()])
        seconds = round(time.monotonic() - started, 1)
        repro = ReproInfo("repro.py", kernel.statements, lines, (), True, self.tried, seconds)
        report = self._told(kernel, repro, ladder, (len(hits), len(cold)), fails)
        mapping = {"names": {value: key for key, value in names.items()}}
        private = {
            "mapping.json": json.dumps(mapping, indent=2),
            "kernels.json": launch_text(self.compiled["launches"]),
        }
        self.progress.stage("leak check", "every outgoing byte against the private program")
        log = hits[0].stderr
        finished = Finished(report, text, test, log, self.source, self.compiled, private)
        story, said = publish(self.options, finished, self.info, self.output, self.progress.note)
        return RunResult(story.report, 0, (*said, *story.lines()), self.output, story)

    def _told(
        self,
        kernel: KernelCandidate,
        repro: ReproInfo,
        ladder: tuple[RungRow, ...],
        seen: tuple[int, int],
        test_fails: bool,
    ) -> Report:
        """The report with what the reduced kernel showed."""
        verdict = replace(
            self.report.verdict,
            summary=self._summary(),
            reproduced=seen,
            command="python repro.py",
        )
        details = {
            "triton": {
                "version": self.compiled.get("triton"),
                "target": self.target,
                "pass": self.wanted.get("pass"),
                "launch": kernel.launch,
            },
            "test": {"path": "test_repro.py", "fails_here": test_fails, "passes_on": []},
            "reduction": [list(row) for row in self.trail],
        }
        return replace(self.report, verdict=verdict, ladder=ladder, repro=repro, details=details)

    def _ablation(self, kernel: KernelCandidate) -> tuple[RungRow, ...]:
        """The rungs of the reduced kernel for each target; what the interpreter made of the script
        says nothing about it.
        """
        rungs = []
        for rung in self.report.ladder:
            if rung.rung == "interpreter":
                continue
            if rung.outcome == "skipped":
                rungs.append(rung)
                continue
            answer = self._asked([kernel], rung.rung)[0]
            outcome = "raises" if answer["outcome"] == "refused" else str(answer["outcome"])
            rungs.append(
                RungRow(rung.rung, outcome, str(answer["message"]), seconds=answer.get("seconds"))
            )
        return tuple(rungs)

    def _cold(self, text: str) -> Answer:
        return run_cold(self.info.path, text, self.options.timeout, describe=False)

    def _shows(self, answer: Answer) -> bool:
        """Whether a fresh process failed, with what the compiler said before."""
        if self.wanted["outcome"] == "died":
            return answer.outcome == "died" and answer.signal == self.wanted["signal"]
        said = str(self.wanted["exception"] or "")
        return answer.outcome == "fails" and said.rpartition(".")[2] in answer.stderr

    def _text(self, render: Any, kernel: KernelCandidate) -> str:
        return format_program(
            render(kernel.text, kernel.name, kernel.launch, self.target, self._summary())
        )

    def _public(self) -> tuple[KernelCandidate, Json]:
        try:
            public = rebuild(
                self.source, self.launch["kernel"], self.compiled.get("vocabulary", ())
            )
            constants = {
                public.parameters[name]: public.constant(value)
                for name, value in self.launch["constexprs"].items()
            }
        except KernelNotPublic as reason:
            raise CannotJudgeError(
                f"the kernel has no public form ({reason}), so there is no repro to report"
            ) from None
        new = public.parameters
        launch = {
            "signature": {new[name]: kind for name, kind in self.launch["signature"].items()},
            "constexprs": constants,
            "aligned": [new[name] for name in self.launch["aligned"]],
            "options": self.launch["options"],
        }
        return KernelCandidate(public.text, public.kernel, launch), dict(public.mapping)

    def _summary(self) -> str:
        """What the verdict says, in words of ours and of the compiler."""
        how = (
            f"dies with {self.wanted['signal']}"
            if self.wanted["outcome"] == "died"
            else f"fails with {self.wanted['exception']}"
        )
        where = f" in the pass {self.wanted['pass']}" if self.wanted.get("pass") else ""
        return f"Compiling the kernel for {self.target} {how}{where}."
