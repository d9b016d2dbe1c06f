"""One level instead of three: blocks, methods and functions that are called once are written where they are called."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from anonymizer.source_absorb import absorb, single
from anonymizer.source_program import SourceProgram
from anonymizer.source_tidy import tidy, undefined

torch = pytest.importorskip("torch", reason="the user's interpreter needs torch")

NESTED = """
class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr1 = Block2()
        self.attr2 = 3.0
    def forward(self, arg1):
        value1 = self.method1(arg1)
        return value1 * self.attr2 + self.attr1(value1)
    def method1(self, arg2):
        return arg2 - helper1(arg2, 2.0)

class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr3 = nn.Softplus(2)
    def forward(self, arg3):
        if arg3.dim() > 1:
            arg3 = arg3.sin()
        else:
            pass
        return self.attr3(arg3)

class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr4 = nn.ModuleList([Block1() for _ in range(1)])
    def forward(self, arg1):
        value1 = arg1.cos()
        return self.attr4[0](value1)

def helper1(arg1, arg2):
    value2 = arg1.abs()
    return value2 / arg2
"""


def program(text: str) -> SourceProgram:
    inputs = ast.Module([ast.parse("def f():\n    return (torch.ones(2),)").body[0].body[0]], [])  # type: ignore[attr-defined]
    return SourceProgram(ast.parse(text), "Repro()", inputs)


def result(made: SourceProgram) -> Any:
    namespace: dict[str, Any] = {"torch": torch, "nn": torch.nn}
    exec(made.definitions_text(), namespace)
    return eval(made.callable_expression, namespace)(torch.linspace(-2, 2, 6).view(2, 3))


def test_a_program_of_five_definitions_becomes_one_that_computes_the_same() -> None:
    whole = program(NESTED)
    expected = result(whole)
    (whole,) = map(tidy, single(whole))
    while True:
        smaller = next(map(tidy, absorb(whole)), None)
        if smaller is None:
            break
        assert not undefined(smaller)
        assert torch.equal(result(smaller), expected)
        whole = smaller
    assert [getattr(node, "name", "") for node in whole.definitions.body] == ["Repro"]
    assert "self.attr3(" in whole.definitions_text()


@pytest.mark.parametrize(
    "text",
    [
        # called twice
        "def helper1(x):\n    return x.sin()\nclass Repro(nn.Module):\n    def forward(self, x):\n        return helper1(helper1(x))",
        # returns before its end
        "def helper1(x):\n    if x.dim() > 1:\n        return x\n    return x.sin()\nclass Repro(nn.Module):\n    def forward(self, x):\n        return helper1(x)",
        # a generator
        "def helper1(x):\n    yield x\nclass Repro(nn.Module):\n    def forward(self, x):\n        return list(helper1(x))",
        # itself
        "class Repro(nn.Module):\n    def forward(self, x):\n        return self.forward(x)",
        # a block with a method of its own, and one that is made elsewhere too
        "class Block1(nn.Module):\n    def forward(self, x):\n        return self.method1(x, *x)\n    def method1(self, *args):\n        return args\n"
        "class Repro(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.attr1 = Block1()\n    def forward(self, x):\n        return self.attr1(x)",
    ],
)
def test_what_cannot_be_written_in_place_stays(text: str) -> None:
    assert not list(absorb(program(text)))
