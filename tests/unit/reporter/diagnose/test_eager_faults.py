"""Faults of torch that need no compiler: internal assertions and signals, and nothing else."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.eager_faults import may_be_torch, read_assertion_place
from reporter.diagnose.rungs import AGAIN, EAGER
from tests.support.made_up_call import DEADLY, EQUAL, raises, recording, verdict

INTERNAL = (
    'isString() INTERNAL ASSERT FAILED at "/build/pytorch/aten/src/ATen/core/ivalue.h":2170, please'
    " report a bug to PyTorch. Expected String but got Device"
)


def judged(again: Any, eager: Any, symptom: str = "raised") -> Diagnosis:
    found, _ = verdict({EAGER: eager, AGAIN: again}, symptom, options={"compiler": "eager"})
    return found


def script_that_raised(message: str) -> Any:
    failure = {"exception": "RuntimeError", "message": message, "first_line": message}
    ended = {"class": "RuntimeError", "location": "", "raised_in_torch": True, "failure": failure}
    return recording(exit=1, exception=ended)


def test_an_internal_assertion_may_be_torchs_fault_and_an_ordinary_exception_is_not() -> None:
    assert may_be_torch(script_that_raised(INTERNAL))
    assert not may_be_torch(script_that_raised("mat1 and mat2 shapes cannot be multiplied"))
    assert not may_be_torch(recording(exit=0))


@pytest.mark.parametrize(
    ("number", "is_torch"),
    [
        (signal.SIGSEGV, True),
        (signal.SIGABRT, True),
        (signal.SIGFPE, True),
        (signal.SIGTERM, False),
        (signal.SIGKILL, False),
        (signal.SIGINT, False),
    ],
)
def test_a_signal_of_the_process_itself_may_be_torchs_fault(number: int, is_torch: bool) -> None:
    assert may_be_torch(recording(exit=-number)) == is_torch


def test_a_script_that_was_stopped_by_its_limit_has_no_fault_of_torch() -> None:
    assert not may_be_torch(recording(exit=-signal.SIGSEGV, stopped=True))


def test_an_internal_assertion_is_a_crash_in_eager_mode_with_its_file() -> None:
    failing = raises("RuntimeError", INTERNAL)
    found = judged(failing, failing)
    assert (found.kind, found.layer, found.is_bug) == ("crash", "eager", True)
    assert found.basis.reproduced == (3, 3)
    assert "ivalue.h" in found.summary
    assert found.signature is not None and found.signature.exception == "RuntimeError"
    assert read_assertion_place(failing["failure"]) == "aten/src/ATen/core/ivalue.h, line 2170"


def test_an_internal_assertion_that_one_repetition_shows_is_counted() -> None:
    assert judged(EQUAL, raises("RuntimeError", INTERNAL)).basis.reproduced == (2, 3)


def test_an_operator_that_ends_the_process_is_told_with_its_signal() -> None:
    found = judged(DEADLY, DEADLY, "died")
    assert (found.kind, found.layer, found.is_bug) == ("process_death", "eager", True)
    assert "SIGSEGV" in found.summary
    assert found.signature is not None and found.signature.signal == "SIGSEGV"


def test_an_ordinary_exception_of_the_call_is_the_programs_own() -> None:
    found = judged(raises("ValueError"), raises("ValueError"))
    assert (found.kind, found.layer) == ("invalid_program", "eager")


@pytest.mark.parametrize(("symptom", "what"), [("raised", "raised"), ("died", "died")])
def test_what_no_repetition_shows_is_not_reproduced(symptom: str, what: str) -> None:
    found = judged(EQUAL, EQUAL, symptom)
    assert (found.kind, found.layer) == ("not_reproduced", "none")
    assert f"call {what}" in found.summary


def test_a_derivative_that_finite_differences_refuse_is_a_wrong_gradient() -> None:
    refused = raises("GradcheckError", "Jacobian mismatch for output 0 with respect to input 0,")
    options = {"compiler": "eager", "derivative": "gradgradcheck"}
    found, _ = verdict({EAGER: refused, AGAIN: refused}, "raised", options=options)
    assert (found.kind, found.layer, found.is_bug) == ("wrong_gradient", "eager", True)
    assert found.summary.startswith(
        "The second derivative of an operator is not that of its values"
    )
    assert found.basis.reproduced == (3, 3) and found.basis.cited == (EAGER, AGAIN)
    once, _ = verdict({EAGER: refused, AGAIN: EQUAL}, "raised", options=options)
    assert "seen in 2 of 3 runs" in once.summary


def test_equal_elements_with_different_derivatives_are_told_so() -> None:
    refused = raises("GradcheckError", "Jacobian mismatch for equal elements: 0.5 apart")
    options = {"compiler": "eager", "derivative": "elementwise"}
    found, _ = verdict({EAGER: refused, AGAIN: refused}, "raised", options=options)
    assert (found.kind, found.layer) == ("wrong_gradient", "eager")
    assert "equal elements get different gradients" in found.summary


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("forward_twice", "backward mode has another"),
        ("in_inference", "by torch.func is wrong in inference mode: outside of it, the same call"),
    ],
)
def test_a_derivative_that_another_mode_has_otherwise_is_told_beside_it(
    kind: str, said: str
) -> None:
    refused = raises("GradcheckError", "Jacobian mismatch for forward mode over itself: 0, and")
    options = {"compiler": "eager", "derivative": kind}
    found, _ = verdict({EAGER: refused, AGAIN: refused}, "raised", options=options)
    assert (found.kind, found.layer) == ("wrong_gradient", "eager")
    assert said in found.summary


def test_an_internal_assertion_that_ended_the_script_needs_no_repetition() -> None:
    failure = {"exception": "RuntimeError", "message": INTERNAL, "first_line": INTERNAL}
    ended = {"class": "RuntimeError", "location": "", "raised_in_torch": True, "failure": failure}
    found, _ = verdict(
        {EAGER: EQUAL, AGAIN: EQUAL},
        "raised",
        options={"compiler": "eager"},
        script={"exit": 1, "exception": ended},
    )
    assert (found.kind, found.layer, found.basis.reproduced) == ("crash", "eager", (1, 1))
