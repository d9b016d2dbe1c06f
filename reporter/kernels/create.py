"""`create` and `diagnose` for a script whose failure is in a Triton kernel of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from anonymizer.audit import Identity, private_terms, terms_checked
from anonymizer.kernels import NotPublic, rebuild
from reporter.create import Result
from reporter.diagnose.explain import explanation
from reporter.errors import CannotJudgeError
from reporter.folder import write_report
from reporter.interpreter import InterpreterInfo
from reporter.kernels.ask import ask, defines_kernels, has_gpu
from reporter.kernels.reduce import Kernel, smallest
from reporter.kernels.verdict import KernelVerdict, judge, same_failure
from reporter.lab import Json
from reporter.outgoing import check_outgoing, refuse_leaks
from reporter.progress import Progress
from reporter.reduce.cold import run_cold
from reporter.report import AuditSummary, Report, ReproInfo, Rung, Verdict
from reporter.settings import Options
from templates.kernel import render_repro, triton_form

_COLD_RUNS = 3
_EXPLANATIONS = {
    "invalid_program": "The kernel does not say what its author means, so there is nothing to report about Triton's compiler.",
    "not_reproduced": "Neither the interpreter nor the compiler for any target does anything wrong with these kernels.",
}


def of_script(
    options: Options, info: InterpreterInfo, progress: Progress, output: Path | None
) -> Result | None:
    """The result for a script with kernels of its own; None where that says nothing, and the ordinary way goes on.

    Without `output` only the verdict. Where there is a GPU kernels run on it, and the ordinary way is the right one.

    Raises:
        CannotJudgeError: it is a bug, but there is no public program that shows it.
        LeakError: the leak check refused.
    """
    if options.script is None or has_gpu() or not defines_kernels(options.cwd / options.script):
        return None
    started = time.monotonic()
    script = (options.cwd / options.script).resolve()
    progress.stage(
        "kernels", "Triton's interpreter, then its compiler for each target, without a GPU"
    )
    spec = {"script": str(script), "args": list(options.args)}
    interpreted = ask(info.path, {**spec, "what": "interpret"}, options.cwd, options.timeout)
    compiled = ask(info.path, {**spec, "what": "compile"}, options.cwd, options.timeout)
    if not compiled.get("launches"):
        progress.note(
            f"no kernel was compiled: {compiled.get('skipped', 'the script launched none')}"
        )
        return None
    source = script.read_text(encoding="utf-8", errors="replace")
    verdict = judge(interpreted, compiled, source)
    if verdict.kind == "not_reproduced" and "torch.compile" in source:
        return None
    report = _report(verdict, interpreted, compiled, info)
    if not verdict.is_bug or output is None:
        return Result(report, 0 if verdict.is_bug else 1, tuple(_lines(report)))
    writer = _Writer(options, info, progress, output, source, compiled, verdict, report)
    return writer.write(started)


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
            exception=answer.get("exception") or answer.get("signal"),
            message=answer.get("message"),
            explanation=_EXPLANATIONS.get(verdict.kind) or explanation(verdict.kind),
            reproduced=(1, 1) if verdict.is_bug else (0, 0),
        ),
        tuple(_ladder(interpreted, compiled, verdict)),
        info.torch,
        info.version,
        answer.get("target") or "none",
        details={"triton": {"version": compiled.get("triton"), "launches": compiled["launches"]}},
    )


def _ladder(interpreted: Json, compiled: Json, verdict: KernelVerdict) -> list[Rung]:
    """A rung for the interpreter and one for each target, of the kernel that the verdict is about or else of the worst."""
    ending = interpreted.get("ending")
    if ending is None:
        rows = [Rung("interpreter", "skipped", str(interpreted.get("skipped", "")))]
    else:
        detail = str(ending.get("exception", ""))
        rows = [Rung("interpreter", "raises" if ending["exit"] else "ok", detail)]
    launch = verdict.launch or compiled["launches"][0]
    for item in launch["targets"]:
        outcome = "raises" if item["outcome"] == "refused" else item["outcome"]
        rows.append(Rung(item["target"], outcome, item["message"], seconds=item["seconds"]))
    rows += [Rung(name, "skipped", why) for name, why in compiled.get("unsupported", {}).items()]
    return rows


def _lines(report: Report) -> list[str]:
    word = "bug" if report.verdict.is_bug else "no bug to report"
    rows = [f"  {row.rung:11}  {row.outcome:8} {row.detail}".rstrip() for row in report.ladder]
    head = f"verdict: {report.verdict.kind} in triton ({word})"
    return [*rows, head, report.verdict.summary, "", report.verdict.explanation]


class _Writer:
    """A bug as a report: the kernel in public names, reduced, shown again in fresh processes, and checked."""

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
        self.tried = 0

    def attempt(self, kernels: Sequence[Kernel]) -> list[bool]:
        """Whether each kernel still fails for the target in the same way."""
        self.tried += len(kernels)
        head = "import triton\nimport triton.language as tl\n\n"
        spec = {
            "what": "candidates",
            "kernel": kernels[0].name,
            "texts": [head + kernel.text for kernel in kernels],
            "launches": [kernel.launch for kernel in kernels],
            "target": self.wanted["target"],
        }
        answers = ask(self.info.path, spec, self.options.cwd, self.options.timeout).get(
            "answers", []
        )
        found = [same_failure(self.wanted, answer) for answer in answers]
        return found + [False] * (len(kernels) - len(found))

    def write(self, started: float) -> Result:
        self.progress.stage("rewrite", "the kernel in public names")
        first, names = self._public()
        if not self.attempt([first])[0]:
            raise CannotJudgeError(
                "the kernel in public names does not fail in the same way, so it is not reported"
            )
        self.progress.stage("reduce", f"from {first.statements} statements")
        kernel = smallest(first, self.attempt)
        from reporter.build import formatted

        target = str(self.wanted["target"])
        text = formatted(
            render_repro(kernel.text, kernel.name, kernel.launch, target, self._summary())
        )
        self.progress.stage("verify", f"{_COLD_RUNS} fresh processes")
        cold = [
            run_cold(self.info.path, text, self.options.timeout, describe=False)
            for _ in range(_COLD_RUNS)
        ]
        hits = [answer for answer in cold if answer.outcome in ("fails", "died")]
        if not hits:
            raise CannotJudgeError(
                "the reduced kernel fails in none of 3 fresh processes, so it is not reported"
            )
        report = replace(
            self.report,
            verdict=replace(
                self.report.verdict,
                summary=self._summary(),
                reproduced=(len(hits), len(cold)),
                command="python repro.py",
            ),
            repro=ReproInfo(
                "repro.py",
                kernel.statements,
                len([line for line in text.splitlines() if line.strip()]),
                (),
                True,
                self.tried,
                round(time.monotonic() - started, 1),
            ),
            details={"triton": {"version": self.compiled.get("triton"), "target": target}},
        )
        return self._checked(report, text, hits[0].stderr, names)

    def _public(self) -> tuple[Kernel, Json]:
        try:
            public = rebuild(
                self.source, self.launch["kernel"], self.compiled.get("vocabulary", ())
            )
        except NotPublic as reason:
            raise CannotJudgeError(
                f"the kernel has no public form ({reason}), so there is no repro to report"
            ) from None
        rename: Callable[[str], str] = lambda name: public.parameters[name]  # noqa: E731
        launch = {
            "signature": {rename(name): kind for name, kind in self.launch["signature"].items()},
            "constexprs": {
                rename(name): value for name, value in self.launch["constexprs"].items()
            },
            "aligned": [rename(name) for name in self.launch["aligned"]],
            "options": self.launch["options"],
        }
        return Kernel(public.text, public.kernel, launch), dict(public.mapping)

    def _summary(self) -> str:
        """What the verdict says, in the compiler's own words and without the kernel's name."""
        return self.report.verdict.summary.replace(f"`{self.launch['kernel']}`", "")

    def _checked(self, report: Report, text: str, log: str, names: dict[str, Any]) -> Result:
        terms = private_terms(
            {} if self.options.keep_source else {str(self.options.script): self.source},
            frozenset(self.compiled.get("vocabulary", ())),
            (),
        )
        identity = Identity.of_this_machine()
        report = replace(report, audit=AuditSummary(True, terms_checked(terms, identity), ()))
        form = triton_form(
            report.to_json(),
            text,
            log,
            str(self.compiled.get("triton")),
            self.options.summary or "",
        )
        files = {"repro.py": text, "issue.md": form.text(), "report.json": report.dumps()}
        refuse_leaks(check_outgoing(files, terms, identity=identity))
        private = {
            "mapping.json": json.dumps(
                {"names": {value: key for key, value in names.items()}}, indent=2
            ),
            "kernels.json": json.dumps(self.compiled["launches"], indent=2),
        }
        write_report(self.output, files, private, replace=self.options.force)
        return Result(report, 0, (*_lines(report), f"report: {self.output}"))
