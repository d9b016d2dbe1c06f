"""A Triton kernel as a repro that needs no GPU, and what an issue says of it where other issues
speak of torch.compile.

The repro compiles the kernel for a named target, as a launch would. It exits 0 where that works,
125 where Triton is missing, too old or cannot compile an empty kernel for the target, and raises
the compiler's own error where the bug is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonymizer.kinds import CandidateOutcome, Kind, RungOutcome
from templates import render
from templates.text import fit_on_line, render_code

#: As Triton has them: backend, architecture, threads of a warp.
TARGETS = {
    "cuda:80": ("cuda", 80, 32),
    "cuda:90": ("cuda", 90, 32),
    "cuda:100": ("cuda", 100, 32),
    "gfx942": ("hip", "gfx942", 64),
}
#: Outcomes that speak of no bug.
_UNTOLD = (RungOutcome.OK, RungOutcome.SKIPPED, RungOutcome.TIMEOUT)
Json = Mapping[str, Any]


def is_kernel(report: Json) -> bool:
    """Whether a report is about a Triton kernel that is compiled by itself."""
    return "triton" in report


def render_repro(kernel: str, name: str, launch: Json, target: str, summary: str) -> str:
    """The text of `repro.py`, not formatted.

    Args:
        kernel: the definitions, in which `name` is the kernel.
        launch: `signature`, `constexprs`, `aligned` and `options` of one launch.
        target: a key of `TARGETS`.
        summary: one sentence on the failure; what is longer than 110 characters is cut.
    """
    return render("kernel_repro.py.j2", **_collect_values(kernel, name, launch, target, summary))


def render_kernel_test(kernel: str, name: str, launch: Json, target: str, summary: str) -> str:
    """The text of `test_repro.py` in the style of Triton's own suite, which is pytest's; not
    formatted.

    Args:
        kernel: the definitions, in which `name` is the kernel.
        launch: `signature`, `constexprs`, `aligned` and `options` of one launch.
        target: a key of `TARGETS`.
        summary: one sentence on the failure; what is longer than 110 characters is cut.
    """
    return render("test_kernel.py.j2", **_collect_values(kernel, name, launch, target, summary))


def _collect_values(
    kernel: str, name: str, launch: Json, target: str, summary: str
) -> dict[str, Any]:
    names = list(launch["signature"])
    constants = ", ".join(
        f"{key!r}: {'tl.' + value['tl'] if isinstance(value, dict) else repr(value)}"
        for key, value in launch["constexprs"].items()
    )
    attributes = ", ".join(
        f'({names.index(key)},): [["tt.divisibility", 16]]' for key in launch["aligned"]
    )
    return {
        "kernel": kernel,
        "function": name,
        "signature": repr(dict(launch["signature"])),
        "constants": "{" + constants + "}",
        "attributes": "{" + attributes + "}",
        "options": repr(dict(launch["options"])),
        "target": ", ".join(map(repr, TARGETS[target])),
        "summary": fit_on_line(summary, 110).replace('"', "'").replace("\\", "/"),
    }


def render_title(report: Json) -> str:
    """The issue's title, of at most 150 characters."""
    verdict, target = report["verdict"], report["triton"]["target"]
    what = "dies compiling" if verdict["kind"] == Kind.PROCESS_DEATH else "fails to compile"
    message = str(verdict["message"] or verdict["exception"] or "").removeprefix("error: ")
    said = fit_on_line(message, 90)
    return fit_on_line(f"[BUG] Triton {what} a kernel for {target}: {said}".rstrip(": "), 150)


def describe_failure(report: Json) -> list[str]:
    """Three sentences: what fails and where, for whom it works, and how surely it is seen."""
    verdict, triton = report["verdict"], report["triton"]
    location = f" in the pass `{triton['pass']}`" if triton.get("pass") else ""
    how = (
        f"is killed by `{verdict['exception']}`"
        if verdict["kind"] == Kind.PROCESS_DEATH
        else f"raises {render_code(str(verdict['exception']))}"
    )
    seen, of = verdict["reproduced"]
    return [
        f"Compiling the kernel below for {triton['target']} {how}{location}.",
        _describe_targets(report),
        (
            f"It was seen in {seen} of {of} fresh processes with Triton {triton['version']}, Python"
            f" {report['python']}; no GPU is needed, since the target is named, and a launch with"
            " these arguments compiles the same."
        ),
    ]


def _describe_targets(report: Json) -> str:
    rows = {row["rung"]: row["outcome"] for row in report["ladder"]}
    fine = [name for name in TARGETS if rows.get(name) == RungOutcome.OK]
    failing = [name for name in TARGETS if rows.get(name) not in (None, *_UNTOLD)]
    told = "The front end accepts the kernel, so it is the compiler behind it that fails"
    if fine:
        return f"{told}: not for {_join(fine)}, but for {_join(failing)}."
    return f"{told}, for {_join(failing)}."


def _join(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def describe_expected_and_actual(report: Json) -> tuple[str, str]:
    """What the compiler should do with the kernel, and what it does.

    Returns:
        (expected, actual): clauses in Markdown, without a full stop.
    """
    verdict = report["verdict"]
    said = f": {render_code(str(verdict['message']))}" if verdict["message"] else ""
    return (
        "the kernel compiles, or is refused with an error that names its line",
        f"{render_code(str(verdict['exception']))}{said}",
    )


def list_targets(report: Json) -> list[tuple[str, str, str]]:
    """The rows of the table of targets: name, outcome, what the compiler says; several that say the
    same say it once.
    """
    rows, said = [], ""
    for rung in report["ladder"]:
        outcome = rung["outcome"]
        mark = outcome if outcome in _UNTOLD else f"**{outcome}**"
        detail = fit_on_line(rung["detail"], 160)
        rows.append(
            (rung["rung"], mark, "the same" if detail and detail == said else render_code(detail))
        )
        said = detail or said
    return rows


def describe_generated(report: Json) -> list[str]:
    """What to say of inductor's own kernels, without full stops: those that some target cannot
    compile, and what the interpreter shows.
    """
    found = (report.get("evidence") or {}).get("triton_kernels") or {}
    told = (
        _describe_refusal(found),
        _describe_interpreted(report["verdict"], found) if found else "",
    )
    return [sentence for sentence in told if sentence]


def _describe_refusal(found: Json) -> str:
    for row in found.get("kernels", ()):
        failing = [
            name
            for name, outcome in row["targets"].items()
            if outcome in (RungOutcome.RAISES, RungOutcome.DIED)
        ]
        if failing:
            fine = [name for name, outcome in row["targets"].items() if outcome == RungOutcome.OK]
            rest = f", but for {_join(fine)}" if fine else ""
            error = render_code(row["errors"][failing[0]])
            return (
                f"Written as Triton code for a GPU, the kernel `{row['kernel']}` of the same"
                f" program does not compile for {_join(failing)}{rest} (Triton {found['version']};"
                f" the targets are named, no GPU was used): {error}"
            )
    return ""


def _describe_interpreted(verdict: Json, found: Json) -> str:
    answer = found.get("interpreter") or {}
    start = (
        f'With Triton code in place of C++ (`torch._inductor.config.cpu_backend = "triton"`, run by'
        f" the interpreter of Triton "
        f"{found.get('version')}, no GPU)"
    )
    if answer.get("outcome") == CandidateOutcome.PASSES:
        return f"{start} the repro passes: the fault is in what inductor does for C++ alone"
    # an error of another class says nothing about this bug
    expected = verdict["exception"] if verdict["kind"] == Kind.CRASH else "AssertionError"
    if answer.get("outcome") == CandidateOutcome.FAILS and answer["exception"] == expected:
        said = render_code(fit_on_line(f"{answer['exception']}: {answer['message']}", 160))
        return f"{start} the repro fails too, so it is not C++ alone that is wrong: {said}"
    return ""


def list_requirements(report: Json) -> list[tuple[str, str]]:
    """What the repro needs, as rows; plain words of `tables._NOTHING` say that it does not."""
    launch = report["triton"]["launch"]
    types = ", ".join(kind for kind in launch["signature"].values() if kind != "constexpr")
    options = ", ".join(f"{name}={value!r}" for name, value in launch["options"].items())
    return [
        ("target", report["triton"]["target"]),
        ("GPU", "none"),
        ("argument types", render_code(types) if types else "none"),
        ("constants", render_code(_write_constants(launch["constexprs"])) or "none"),
        ("launch options", render_code(options) if options else "default"),
    ]


def _write_constants(values: Json) -> str:
    return ", ".join(
        f"{name}={value['tl'] if isinstance(value, Mapping) else value!r}"
        for name, value in values.items()
    )
