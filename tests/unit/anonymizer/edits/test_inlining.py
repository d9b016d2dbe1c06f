"""What a level less of a program looks like."""

from __future__ import annotations

import ast

import pytest

from anonymizer.edits.inlining import free_methods, inline, write_out
from anonymizer.source.program import SourceProgram
from tests.support.gathered import ones, program_of


@pytest.mark.parametrize(
    ("parameters", "given"),
    [
        ("x, scale", "y, 3"),
        ("x, scale", "y, scale=3"),
        ("x, *, scale", "scale=3, x=y"),
        ("x, scale=3", "y"),
    ],
)
def test_a_helper_is_written_where_it_is_called(parameters: str, given: str) -> None:
    text = f"def helper1({parameters}):\n    return x * scale\ndef repro(y):\n    return helper1({given})"
    (made,) = inline(SourceProgram(ast.parse(text), "repro", ones()))
    assert made.write_definitions().endswith("return y * 3")


def test_a_helper_that_calls_itself_stays() -> None:
    text = (
        "def helper1(x):\n    return x if x.dim() == 0 else helper1(x[0])\n"
        "def repro(x):\n    return helper1(x)"
    )
    assert not list(inline(SourceProgram(ast.parse(text), "repro", ones())))


def test_a_method_that_asks_for_the_one_of_its_base_needs_its_object() -> None:
    text = (
        "class Base(nn.Module):\n    def double(self, x):\n        return x * 2\n"
        "class Repro(Base):\n    def scale(self, x):\n        return super().double(x)\n"
        "    def forward(self, x):\n        return self.scale(x)"
    )
    made = list(free_methods(SourceProgram(ast.parse(text), "Repro()", ones())))
    assert not any("def scale(x):\n    return super()" in each.write_definitions() for each in made)


def test_a_list_of_few_values_is_written_out() -> None:
    texts = [made.write_definitions() for made in write_out(program_of("inline/comprehensions"))]
    few, named = sorted(texts, key=lambda text: "in (1, 3)" not in text)
    assert "torch.tensor([0.5, 0.5])" in few and "for step in (1, 3)" in few
    assert "named = [x + 1, x + 3]" in named and "for step in range(2)]" in named
    assert all(text.count("for step") == 4 for text in (few, named)) and ast.parse(few)


def test_a_method_that_does_nothing_with_its_object_is_a_function() -> None:
    (made,) = free_methods(program_of("inline/methods"))
    text = made.write_definitions()
    assert text.startswith("def method1(x):\n    return x.sum()")
    assert "torch.func.grad(method1)(x) + self.method2(x)" in text
    assert "return method1(x) + x" in text
