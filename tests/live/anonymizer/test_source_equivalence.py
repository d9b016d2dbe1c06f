"""The proof for rewritten sources: it holds for programs that are the same, and for none that is
another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from reporter.core.errors import CannotJudgeError
from reporter.report.sections.whole_model import ListComparisonSection
from reporter.whole_model.source_model import describe_equivalence
from tests.support.pretenders import CANARY, CASES
from tests.support.scripts import script
from tests.support.source_scripts import NAMES, answer, compared


@pytest.mark.parametrize("name", NAMES)
def test_a_rewritten_source_is_proved(name: str) -> None:
    found = compared(script(f"source/{name}"))
    assert found["outcome"] == "ok", found["detail"]
    # one calls autograd.grad by itself and returns what it gives
    back = "not compared" if name == "operators" else "bitwise"
    parts = [found[part]["how"] for part in ("outputs", "gradients", "buffers")]
    assert parts == ["bitwise", back, "bitwise"]
    assert found["operators"]["same"]


def test_every_tensor_is_found_wherever_the_program_keeps_it() -> None:
    found = compared(script("source_proof/states"))
    assert found["outcome"] == "ok", found["detail"]
    proof = describe_equivalence({"equivalence": found})
    assert proof.outputs == ListComparisonSection(how="bitwise", count=2, max_abs_error=0.0)
    assert proof.buffers.how == proof.gradients.how == "bitwise"
    assert proof.gradients.count > 20


def test_gradients_of_a_call_that_goes_back_by_itself_are_those_it_leaves() -> None:
    found = compared(script("source_proof/step"))
    assert found["outcome"] == "ok", found["detail"]
    assert found["gradients"]["how"] == "bitwise"


def test_other_gradients_left_behind_are_no_proof() -> None:
    def doubled(asked: dict[str, Any]) -> None:
        assert ".backward()" in asked["text"]
        asked["text"] = asked["text"].replace(".backward()", ".mul(2).backward()")

    found = compared(script("source_proof/step"), doubled)
    assert found["outcome"] == "ok" and found["outputs"]["how"] == "bitwise"
    assert found["gradients"]["how"] == "differ"


def swapped(asked: dict[str, Any]) -> None:
    assert "torch.add" in asked["text"]
    asked["text"] = asked["text"].replace("torch.add", "torch.sub")


def detached(asked: dict[str, Any]) -> None:
    assert "self.norm" not in asked["text"]
    asked["text"] = asked["text"].replace("[0] + self.", "[0].detach() + self.", 1)


def uncounted(asked: dict[str, Any]) -> None:
    assert " += 1" in asked["text"]
    asked["text"] = asked["text"].replace(" += 1", " += 2")


@pytest.mark.parametrize("change", [swapped, detached, uncounted])
def test_another_program_is_not_proved(change: Callable[[dict[str, Any]], None]) -> None:
    found = compared(script("source_proof/states"), change)
    assert found["outcome"] == "ok", found["detail"]
    with pytest.raises(CannotJudgeError, match="not equivalent"):
        describe_equivalence({"equivalence": found})


def test_a_tensor_that_stands_for_none_is_no_proof() -> None:
    def forgotten(asked: dict[str, Any]) -> None:
        asked["tensors"] = [pair for pair in asked["tensors"] if pair[0] != "given[0].attr1"][:-1]

    found = compared(script("source_proof/states"), forgotten)
    assert found["outcome"] == "raises"
    with pytest.raises(CannotJudgeError, match="stand for none of the call's"):
        describe_equivalence({"equivalence": found})


#: What source mode refuses, or what is refused since it is not the same: these pretend by what no
#: class of theirs says.
_REFUSED = {
    "a module of torch, it says",
    "a forward of its own",
    "made by exec",
    "named like torch",
    "one letter",
}


@pytest.mark.parametrize("case", CASES)
def test_a_pretender_is_the_same_program_or_refused(case: str) -> None:
    made = answer(lambda: {"ENTRY": CASES[case](), "ARGS": (torch.randn(3, 4),)})
    assert not re.search(CANARY, made["text"], re.IGNORECASE)
    found = made["found"]
    same = found["outcome"] == "ok" and found["outputs"]["how"] == "bitwise"
    assert (same and not made["problems"]) == (case not in _REFUSED), made
