"""A Triton kernel as a repro that needs no GPU, and the parts that Triton's own form asks for.

The repro compiles the kernel for a named target, as a launch would. It exits 0 where that works, 125 where Triton is missing, too
old or cannot compile an empty kernel for the target, and raises the compiler's own error where the bug is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from templates import render
from templates.text import fence, shorten, tidy_log

#: As Triton has them: backend, architecture, threads of a warp.
TARGETS = {
    "cuda:80": ("cuda", 80, 32),
    "cuda:90": ("cuda", 90, 32),
    "cuda:100": ("cuda", 100, 32),
    "gfx942": ("hip", "gfx942", 64),
}
_LOG = 4000


@dataclass(frozen=True)
class TritonForm:
    """The two required boxes of `triton-lang/triton`'s form for bugs, and a title."""

    title: str
    describe_the_bug: str
    environment_details: str

    def text(self) -> str:
        """The issue as a title line and its body."""
        parts = (
            ("### Describe the bug", self.describe_the_bug),
            ("### Environment details", self.environment_details),
        )
        return f"{self.title}\n\n" + "\n".join(f"{name}\n\n{body}\n" for name, body in parts)


def render_repro(
    kernel: str, name: str, launch: Mapping[str, Any], target: str, summary: str
) -> str:
    """The text of `repro.py`, not formatted.

    Args:
        kernel: the definitions, in which `name` is the kernel.
        launch: `signature`, `constexprs`, `aligned` and `options` of one launch.
        target: a key of `TARGETS`.
    """
    names = list(launch["signature"])
    constants = ", ".join(
        f"{key!r}: {'tl.' + value['tl'] if isinstance(value, dict) else repr(value)}"
        for key, value in launch["constexprs"].items()
    )
    attributes = ", ".join(
        f'({names.index(key)},): [["tt.divisibility", 16]]' for key in launch["aligned"]
    )
    return render(
        "kernel_repro.py.j2",
        kernel=kernel,
        function=name,
        signature=repr(dict(launch["signature"])),
        constants="{" + constants + "}",
        attributes="{" + attributes + "}",
        options=repr(dict(launch["options"])),
        target=", ".join(map(repr, TARGETS[target])),
        summary=summary.replace('"', "'").replace("\\", "/"),
    )


def triton_form(
    report: Mapping[str, Any], repro: str, log: str, triton: str, words: str = ""
) -> TritonForm:
    """What Triton's form asks for: an example to copy and run, what it does, and the versions.

    Args:
        report: the document of report.json; its ladder has a rung for each target.
        log: what the compiler printed for the public repro.
        triton: Triton's version.
        words: what the reporter wrote.
    """
    verdict = report["verdict"]
    rows = "\n".join(
        f"| {row['rung']} | {row['outcome']} | {row['detail']} |".replace("`", "'")
        for row in report["ladder"]
    )
    parts = [
        verdict["summary"],
        words,
        "It is compiled for a named target, so no GPU is needed; a launch with these arguments compiles the same.",
        fence(repro, "python"),
        f"| target | outcome | |\n|---|---|---|\n{rows}",
        "What the compiler says:",
        fence(shorten(tidy_log(log).strip(), _LOG)),
        f"Seen in {verdict['reproduced'][0]} of {verdict['reproduced'][1]} fresh processes.",
    ]
    return TritonForm(
        f"[BUG] {verdict['summary'].rstrip('.')}"[:200],
        "\n\n".join(part for part in parts if part),
        f"Triton: {triton}\nGPU: none, compiled for {report['device']}\nPython: {report['python']}\ntorch: {report['torch']}",
    )
