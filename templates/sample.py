"""Reports that are nobody's, with something in every place that a form may fill: what a form of the
user's own is tried on.
"""

from __future__ import annotations

from typing import Any

REPRO = """import torch


def repro(x):
    return torch.frexp(x)


def main():
    torch.compile(repro)(torch.ones(2))


if __name__ == "__main__":
    main()
"""


_NO_NUMBERS = {"max_abs_error": None, "error_vs_fp64": None, "eager_error_vs_fp64": None}


def build_sample() -> dict[str, Any]:
    """The document about a torch program, `REPRO`."""
    return {
        "schema_version": 2,
        "verdict": {
            "kind": "crash",
            "layer": "inductor",
            "is_bug": True,
            "summary": "Compiling raises RuntimeError; eager runs.",
            "signature": "crash in inductor",
            "exception": "RuntimeError",
            "message": "a message",
            "reproduced": [3, 3],
            "explanation": "",
            "command": "python repro.py",
        },
        "ladder": _build_ladder(),
        "torch": "2.6.0",
        "python": "3.11.7",
        "device": "cpu",
        "requires": {
            "backward": False,
            "dynamic": None,
            "mode": None,
            "config": {"torch._inductor.config.fallback_random": True},
            "contexts": ["torch.no_grad()"],
        },
        "repro": {
            "path": "repro.py",
            "statements": 1,
            "lines": 8,
            "operators": ["torch.frexp"],
            "verified_cold": True,
            "candidates": 12,
            "seconds": 20.0,
            "neighbours": [
                {"change": "dtype: torch.float32", "fails": True},
                {"change": "dtype: torch.float64", "fails": False},
            ],
        },
        "labels": ["module: inductor"],
        "other_findings": [],
        "audit": {"passed": True, "terms_checked": 12, "findings": []},
        "differs_from": [{"torch": "2.5.1", "python": "3.11.7", "outcome": "passes"}],
        "not_measured": ["the ablation"],
        "issue": _build_issue(),
    }


def _build_ladder() -> list[dict[str, Any]]:
    numbers = {"max_abs_error": None, "error_vs_fp64": 0.0, "eager_error_vs_fp64": 0.0}
    wrong = {"max_abs_error": 0.5, "error_vs_fp64": 0.5, "eager_error_vs_fp64": 0.0}
    rows = (("eager", "ok"), ("aot_eager", "ok"), ("inductor", "raises"))
    return [
        *(
            {"rung": name, "outcome": end, "detail": "", "seconds": 1.0, **numbers}
            for name, end in rows
        ),
        {"rung": "mode=max-autotune", "outcome": "differs", "detail": "", "seconds": 1.0, **wrong},
    ]


def _build_issue() -> dict[str, Any]:
    return {
        "environment": {"torch": "2.6.0", "python": "3.11.7"},
        "version": "0.1.0",
        "error_log": (
            "Traceback (most recent call last):\n"
            '  File "repro.py", line 9\n'
            "RuntimeError: a message"
        ),
        "culprit": "lowerings",
        "workaround": "with `fullgraph=False` it is right",
        "releases": {"2.13.0": "right"},
        "human_words": "Words of the reporter.",
        "key": "0123456789abcdef",
        "form": "pytorch",
        "excerpt": {"caption": "A generated kernel", "language": "cpp", "text": "void kernel();"},
    }


def build_kernel_sample() -> dict[str, Any]:
    """The document about a Triton kernel."""
    report = build_sample()
    outcomes = {"cuda:80": "ok", "cuda:90": "raises", "gfx942": "skipped"}
    report["ladder"] = [
        {"rung": name, "outcome": outcome, "detail": "a message", "seconds": 1.0, **_NO_NUMBERS}
        for name, outcome in outcomes.items()
    ]
    launch = {
        "signature": {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        "constexprs": {"BLOCK": 64},
        "aligned": ["x"],
        "options": {"num_warps": 4},
    }
    report["triton"] = {
        "version": "3.6.0",
        "target": "cuda:90",
        "pass": "TritonGPUCoalesce",
        "launch": launch,
    }
    return report
