"""The texts around a kernel: its repro, its test, and what an issue says of inductor's own
kernels.
"""

from __future__ import annotations

import ast
from typing import Any

from collectors.triton import targets as collected
from templates.kernel import TARGETS, render_kernel_test, render_repro
from templates.kernel import describe_generated as sentence


def test_the_repro_and_its_test() -> None:
    launch = {
        "signature": {"ptr1": "*fp32", "SIZE1": "constexpr", "DTYPE1": "constexpr"},
        "constexprs": {"SIZE1": 64, "DTYPE1": {"tl": "float16"}},
        "aligned": ["ptr1"],
        "options": {"num_warps": 4},
    }
    text = render_repro(
        "@triton.jit\ndef kernel1(): pass", "kernel1", launch, "gfx942", 'it "fails"'
    )
    ast.parse(text)
    assert "GPUTarget('hip', 'gfx942', 64)" in text and "'DTYPE1': tl.float16" in text
    test = render_kernel_test(
        "@triton.jit\ndef kernel1(): pass", "kernel1", launch, "gfx942", "It fails"
    )
    assert "def test_kernel1_compiles():" in test and ast.parse(test)


def test_targets_are_those_of_the_collector() -> None:
    """The host may not import the collector, so both have the table."""
    assert collected.TARGETS == TARGETS


def test_an_issue_speaks_of_kernels_that_do_not_compile_and_of_no_others() -> None:
    row: dict[str, Any] = {
        "kernel": "triton_poi_fused_0",
        "targets": {"cuda:80": "ok", "gfx942": "ok"},
        "errors": {},
    }
    verdict = {"kind": "wrong_result", "exception": None}
    kernels: dict[str, Any] = {"version": "3.9.0", "kernels": [row]}
    report = {"verdict": verdict, "evidence": {"triton_kernels": kernels}}
    assert sentence(report) == [] and sentence({"verdict": verdict}) == []
    row["targets"]["gfx942"] = "raises"
    row["errors"]["gfx942"] = "RuntimeError: PassManager::run failed"
    (told,) = sentence(report)
    assert "`triton_poi_fused_0`" in told and "for gfx942, but for cuda:80" in told
    assert "`RuntimeError: PassManager::run failed`" in told


def test_an_issue_says_what_the_interpreter_shows_of_the_same_failure_only() -> None:
    def told(kind: str, exception: str | None, answer: dict[str, Any]) -> list[str]:
        return sentence(
            {
                "verdict": {"kind": kind, "exception": exception},
                "evidence": {"triton_kernels": {"version": "3.9.0", "interpreter": answer}},
            }
        )

    (passes,) = told("wrong_result", None, {"outcome": "passes", "launched": 1})
    assert "the repro passes" in passes and "C++ alone" in passes and "Triton 3.9.0" in passes
    wrong = {"outcome": "fails", "exception": "AssertionError", "message": "max error 0.5"}
    (fails,) = told("wrong_result", None, wrong)
    assert "fails too" in fails and "`AssertionError: max error 0.5`" in fails
    # a crash is another one if its class is
    assert told("crash", "InductorError", wrong) == []
    assert told("crash", "AssertionError", wrong) != []
    assert told("wrong_result", None, {"skipped": "no answer within 9 s"}) == []
