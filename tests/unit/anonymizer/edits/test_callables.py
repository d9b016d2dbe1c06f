"""What takes the place of an object's method, and of a function that only hands on."""

from __future__ import annotations

import ast

import pytest

from anonymizer.edits.callables import (
    call_directly,
    drop_lambdas,
    free_bound_methods,
    free_modules,
    skip_entry,
)
from anonymizer.edits.inlining import fold
from anonymizer.source.program import SourceProgram

OBJECT = """
class Thing1:
    def method1(self, x):
        x.add_(1)
        return x._version
state1 = Thing1()
def repro(x):
    return state1.method1(x)
"""
CALLED = OBJECT.replace("def method1", "def __call__").replace("state1.method1(", "state1(")
BOUND = (
    OBJECT.replace("state1 =", "state2 =")
    .replace("def repro", "state1 = state2.method1\ndef repro")
    .replace("state1.method1(", "state1(")
)
HANDED = "def helper1(x):\n    x.add_(1)\n    return x\ndef repro(y):\n    return helper1(y)"


def program(text: str) -> SourceProgram:
    return SourceProgram(ast.parse(text), "repro", ast.parse("return (torch.ones(2),)"))


@pytest.mark.parametrize("text", [OBJECT, CALLED, BOUND])
def test_a_method_that_does_nothing_with_its_object_is_a_function(text: str) -> None:
    (made,) = free_bound_methods(program(text))
    written = made.write_definitions()
    assert "def helper1(x):\n    x.add_(1)" in written
    assert "def repro(x):\n    return helper1(x)" in written


@pytest.mark.parametrize(
    "text",
    [
        OBJECT.replace("x._version", "self"),
        OBJECT.replace("class Thing1", "class Thing1(nn.Module)"),
        OBJECT.replace("state1.method1(x)", "state1.method1(x) + other.method1(x)"),
        CALLED.replace("state1(x)", "list(map(state1, [x]))"),
        OBJECT.replace("    def method1", "    @staticmethod\n    def method1"),
    ],
)
def test_a_method_that_needs_its_object_stays(text: str) -> None:
    assert list(free_bound_methods(program(text))) == []


def test_what_the_entry_hands_its_arguments_to_is_the_entry() -> None:
    (made,) = skip_entry(program(HANDED))
    assert made.write_definitions() == "def repro(x):\n    x.add_(1)\n    return x"


@pytest.mark.parametrize(
    "text",
    [
        HANDED.replace("helper1(y)", "helper1(y + 1)"),
        HANDED.replace("helper1(y)", "helper1(helper1)"),
        HANDED.replace("return x", "return helper1(x)"),
        HANDED.replace("helper1(x)", "helper1(x, z=2)"),
    ],
)
def test_an_entry_that_does_more_stays(text: str) -> None:
    assert list(skip_entry(program(text))) == []


def test_a_function_takes_the_place_of_a_lambda_around_it() -> None:
    text = "def repro(x):\n    return torch.func.jvp(lambda z: Own.apply(z), (x,), (x,))"
    (made,) = drop_lambdas(program(text))
    assert "return torch.func.jvp(Own.apply, (x,), (x,))" in made.write_definitions()
    for other in ("Own.apply(z, z)", "Own.apply(z) + 1", "z.apply(z)", "Own.apply(z, k=z)"):
        kept = text.replace("Own.apply(z)", other)
        assert list(drop_lambdas(program(kept))) == []


BLOCKS = """
class Block1(nn.Module):
    def forward(self, x):
        return x + 1
class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr1 = Block1()
    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(self.attr1, x, use_reentrant=False)
"""


def test_what_a_function_is_given_to_call_is_called_directly() -> None:
    (made,) = call_directly(program(BLOCKS))
    assert "        return self.attr1(x)" in made.write_definitions()
    for other in (
        "checkpoint(x, self.attr1)",
        "checkpoint(self.attr1)",
        "checkpoint(torch.sin, x)",
    ):
        text = BLOCKS.replace("checkpoint(self.attr1, x, use_reentrant=False)", other)
        assert text != BLOCKS and list(call_directly(program(text))) == []


def test_a_block_with_a_forward_alone_is_a_function_where_it_is_handed_over() -> None:
    (made,) = free_modules(program(BLOCKS))
    text = made.write_definitions()
    assert text.startswith("def helper1(x):\n    return x + 1") and "Block1" not in text
    assert "self.attr1 = helper1" in text
    (folded,) = fold(made)
    assert "checkpoint(helper1, x, use_reentrant=False)" in folded.write_definitions()
    assert list(free_modules(program(BLOCKS.replace("x + 1", "x + self.training")))) == []
