"""Whose fault a kernel's failure is, without a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from reporter.kernels.verdict import is_same_failure, judge


def _answer(outcome: str, target: str = "cuda:80", **more: Any) -> dict[str, Any]:
    plain = {
        "exception": None,
        "signal": None,
        "pass": None,
        "message": "",
        "log": "",
        "seconds": 0.1,
    }
    return {**plain, "outcome": outcome, "target": target, **more}


def _compiled(*answers: dict[str, Any]) -> dict[str, Any]:
    return {"launches": [{"kernel": "secret_kernel", "targets": list(answers)}]}


OK = {"ending": {"exit": 0}}


WRONG = {"ending": {"exit": 1, "exception": "AssertionError", "message": "not close"}}


@pytest.mark.parametrize(
    ("interpreted", "answers", "source", "kind", "is_bug", "says"),
    [
        (OK, [_answer("ok")], "", "not_reproduced", False, "only a GPU shows"),
        (WRONG, [_answer("ok")], "", "invalid_program", False, "AssertionError: not close"),
        (
            OK,
            [_answer("refused", message="no fp8"), _answer("ok", "cuda:90")],
            "",
            "invalid_program",
            False,
            "for cuda:80, but not for cuda:90: no fp8",
        ),
        (
            OK,
            [_answer("raises", exception="RuntimeError", message="PassManager::run failed")],
            "",
            "crash",
            True,
            "fails with RuntimeError: PassManager::run failed",
        ),
        (
            WRONG,
            [_answer("ok"), _answer("died", "gfx942", signal="SIGABRT")],
            "",
            "process_death",
            True,
            "for gfx942 dies with SIGABRT; it compiles for cuda:80",
        ),
        (OK, [_answer("timeout")], "", "not_reproduced", False, "did not end within its limit"),
        (
            OK,
            [_answer("raises", exception="PTXASError", message="Unknown modifier")],
            "tl.inline_asm_elementwise(…)",
            "invalid_program",
            False,
            "own inline assembly",
        ),
    ],
)
def test_whose_fault_it_is(
    interpreted: dict[str, Any],
    answers: list[dict[str, Any]],
    source: str,
    kind: str,
    is_bug: bool,
    says: str,
) -> None:
    verdict = judge(interpreted, _compiled(*answers), source)
    assert (verdict.kind, verdict.is_bug) == (kind, is_bug)
    assert says in verdict.summary


def test_a_launch_that_was_not_compiled_says_why() -> None:
    compiled = _compiled(_answer("ok"))
    compiled["launches"].append({"kernel": "other", "targets": [], "unknown": "tile (Tile)"})
    verdict = judge(OK, compiled, "")
    assert verdict.kind == "not_reproduced"
    assert "compiles for cuda:80 (`other` takes tile (Tile), which only a" in verdict.summary


def test_the_same_failure_in_other_words() -> None:
    wanted = _answer(
        "raises", exception="RuntimeError", message="'tt.dot' op has 3 operands of tensor<4xf32>"
    )
    assert is_same_failure(
        wanted, {**wanted, "message": "'tt.load' op has 7 operands of tensor<8xf16>"}
    )
    assert not is_same_failure(wanted, {**wanted, "message": "unrealized cast"})
    assert not is_same_failure(wanted, _answer("died", signal="SIGABRT"))
