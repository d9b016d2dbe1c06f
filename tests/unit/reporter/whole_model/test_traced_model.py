"""A rewritten model is sent only where it is proved to be the private one; otherwise a sentence
says what is missing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from msgspec import structs

from reporter.core.errors import CannotJudgeError
from reporter.recording.call_session import CallSession
from reporter.report.captured_call import CapturedCall
from reporter.whole_model import source_model
from reporter.whole_model.traced_model import collect, describe_equivalence
from tests.support.places import DATA

FOOBAR = CapturedCall.load(DATA / "recordings" / "foobar.json")


def with_whole(whole: Any) -> CapturedCall:
    return replace(FOOBAR, material=structs.replace(FOOBAR.material, whole=whole))


SAME = {"how": "bitwise", "max_abs_error": 0.0, "count": 1}
DIFFER = {"how": "differ", "max_abs_error": 0.25, "count": 1}
PROOF = {
    "outcome": "ok",
    "outputs": SAME,
    "gradients": SAME,
    "buffers": SAME,
    "operators": {"same": True, "count": 3, "changed": {}},
    "layer": None,
}
TRACE: dict[str, Any] = {"reasons": [], "tensors": [], "modules": [], "private": {"modules": {}}}


def whole(trace: dict[str, Any] | None = None, **proof: Any) -> dict[str, Any]:
    return {"trace": {**TRACE, **(trace or {})}, "equivalence": {**PROOF, **proof}}


UNPROVED = [
    (None, "could not be rewritten as a whole: the call was not traced"),
    ({"error": "it has a stream"}, "could not be rewritten as a whole: it has a stream"),
    (
        whole(outcome="raises", detail="Traceback\nKeyError: 'x'\n"),
        "does not run with the private weights: KeyError: 'x'",
    ),
    (whole(outcome="died", signal="SIGSEGV"), "does not run with the private weights: SIGSEGV"),
    (
        whole(outputs=DIFFER, buffers={**DIFFER, "max_abs_error": 2.0}),
        "not equivalent to the private one: outputs and buffers differ by up to 2",
    ),
    (
        whole({"reasons": ["a custom operator"]}, gradients=DIFFER),
        "gradients differ by up to 0.25 (a custom operator)",
    ),
    (
        whole(operators={"same": False, "changed": {"aten.mm": [1, 2], "aten.add": [1, 0]}}),
        "aten.add, aten.mm are not as often in it",
    ),
]


@pytest.mark.parametrize(("found", "says"), UNPROVED)
def test_what_is_not_proved_is_refused_with_what_is_missing(
    found: dict[str, Any] | None, says: str
) -> None:
    with pytest.raises(CannotJudgeError) as caught:
        describe_equivalence(with_whole(found))
    assert says in str(caught.value)


def test_where_the_operations_are_not_proved_the_source_may_be() -> None:
    found = {**whole(outputs=DIFFER), "source": {"equivalence": PROOF}}
    shown = describe_equivalence(with_whole(found))
    assert shown.proved and shown.rewritten_from == "source"
    assert shown.outputs.to_json() == SAME


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"error": "a decorator"}, "source could not be rewritten: a decorator"),
        (
            {"equivalence": {"outcome": "raises", "detail": "a\nNameError: q"}},
            "does not run with the private tensors: NameError: q",
        ),
        ({"equivalence": {**PROOF, "outputs": DIFFER}}, "not equivalent .* model: outputs differ"),
        (
            {"equivalence": {**PROOF, "operators": {"same": False, "changed": {}}}},
            "not equivalent .* model: operators differ",
        ),
    ],
)
def test_a_source_that_is_not_proved_is_refused_too(found: dict[str, Any], says: str) -> None:
    with pytest.raises(CannotJudgeError, match=says):
        source_model.describe_equivalence(found)


class Call:
    """A recorded call that answers every question alike."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer

    def request(self, question: object, timeout: float) -> dict[str, Any]:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"outcome": "died", "signal": "SIGSEGV"}, "the call could not be traced (SIGSEGV)"),
        ({"outcome": "timeout"}, "the call could not be traced (timeout)"),
        (
            {"outcome": "raises", "detail": "Traceback\nRuntimeError: no\n"},
            "the call could not be traced (RuntimeError: no)",
        ),
    ],
)
def test_a_call_that_cannot_be_traced_says_why(answer: dict[str, Any], says: str) -> None:
    assert collect(cast(CallSession, Call(answer)), 1) == {"error": says}
