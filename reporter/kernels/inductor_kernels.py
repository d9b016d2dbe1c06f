"""What Triton says of the kernels that inductor writes for a repro, for GPUs that need not be
there: its compiler and its interpreter.

A program that fails on the CPU is often compiled for a GPU by somebody else. A kernel that no
target can compile is Triton's bug or inductor's, whatever the values are; and if the repro passes
with Triton's interpreter running those kernels, the C++ code is wrong alone.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from collectors.protocol.kernels import KernelLaunch, KernelsAnswer, KernelSpec
from collectors.protocol.words import KernelOutcome
from reporter.core.formatting import format_program
from reporter.kernels.questions import ask, has_gpu
from reporter.report.folder import write_private
from reporter.report.sections.base import build_section
from reporter.report.sections.triton import (
    GeneratedKernelRow,
    GeneratedKernelsSection,
    InterpretedSection,
)
from templates.kernel import render_repro

_BROKEN = (KernelOutcome.RAISES, KernelOutcome.DIED)
_FAILED = (*_BROKEN, KernelOutcome.REFUSED)


def compile_kernels(
    python: Path, text: str, budget: float, keep: Path | None = None
) -> GeneratedKernelsSection:
    """The part of report.json: the kernels, each with its arguments and an outcome for each target,
    and how the repro ends when Triton's interpreter runs them.

    Args:
        python: the interpreter, which has a torch; one without Triton tells that.
        text: the repro.
        budget: seconds for each of the two questions.
        keep: a private folder for the texts of the kernels; None: they go away.

    Returns:
        The section with `skipped` alone where there is no kernel.
    """
    with tempfile.TemporaryDirectory(prefix="generated-") as name:
        script = Path(name).resolve() / "repro.py"
        script.write_text(text, encoding="utf-8")
        spec: KernelSpec = {"what": "generated", "script": str(script)}
        answer = ask(python, spec, script.parent, budget)
        launches = answer.get("launches", [])
        interpreted = (
            _interpret(python, script, budget)
            if launches
            else KernelsAnswer(skipped="there is no kernel")
        )
    if keep is not None and launches:
        _keep(keep, launches)
    if not launches:
        reason = str(answer.get("skipped", "inductor wrote no Triton kernel"))
        return GeneratedKernelsSection(skipped=reason)
    return GeneratedKernelsSection(
        version=answer["triton"],
        kernels=tuple(map(_build_row, launches)),
        unsupported=answer.get("unsupported") or {},
        interpreter=build_section(InterpretedSection, interpreted),
    )


def _interpret(python: Path, script: Path, budget: float) -> KernelsAnswer:
    if has_gpu():
        return {"skipped": "there is a GPU"}
    spec: KernelSpec = {"what": "interpret generated", "script": str(script)}
    return ask(python, spec, script.parent, budget)


def _build_row(launch: KernelLaunch) -> GeneratedKernelRow:
    targets = launch["targets"]
    return build_section(
        GeneratedKernelRow,
        {
            "kernel": launch["kernel"],
            "heuristics": launch["heuristics"],
            "signature": launch["signature"],
            "constexprs": launch["constexprs"],
            "arguments": launch.get("arguments") or {},
            "targets": {item["target"]: item["outcome"] for item in targets},
            "errors": {
                item["target"]: f"{item.get('exception') or item.get('signal')}: {item['message']}"
                for item in targets
                if item["outcome"] in _FAILED
            },
        },
    )


def write_failing_repro(launch: KernelLaunch) -> str | None:
    """A program of its own for a kernel that some target cannot compile: it needs Triton, and torch
    for inductor's helpers, but no GPU.

    Args:
        launch: `text` with `kernel` in it, `signature`, `constexprs`, `aligned`, `options`, and
            `targets`, the answers.
    """
    answer = next((item for item in launch["targets"] if item["outcome"] in _BROKEN), None)
    if answer is None:
        return None
    summary = (
        f"inductor's kernel {launch['kernel']} does not compile for {answer['target']}:"
        f" {answer['message']}"
    )
    text = render_repro(launch["text"], launch["kernel"], launch, answer["target"], summary)
    return format_program(text)


def _keep(folder: Path, launches: list[KernelLaunch]) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for launch in launches:
        write_private(folder / f"{launch['kernel']}.py", launch["text"] + "\n")
        repro = write_failing_repro(launch)
        if repro is not None:
            write_private(folder / f"{launch['kernel']}_repro.py", repro)
    write_private(folder / "kernels.json", json.dumps(launches, indent=2))
