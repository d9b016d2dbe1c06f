"""What is called more than once, or does not end at its end, is not written where it is called."""

from __future__ import annotations

import ast

import pytest

from anonymizer.edits.absorption import absorb
from anonymizer.source.program import SourceProgram
from tests.support.gathered import ones, program_of


@pytest.mark.parametrize(
    "name",
    [
        "called_twice",
        "returns_before_its_end",
        "a_generator",
        "calls_itself",
        "a_block_with_a_method_of_its_own",
    ],
)
def test_what_cannot_be_written_in_place_stays(name: str) -> None:
    assert not list(absorb(program_of(f"absorb/{name}")))


def test_the_method_of_an_object_that_the_constructor_makes_is_written_where_it_is_called() -> None:
    (program,) = absorb(program_of("absorb/an_object_with_a_method"))
    thing, module = map(ast.unparse, program.definitions.body)
    assert "def method1" not in thing
    forward = module.partition("def forward(self, x):\n")[2]
    own, *others = (line.strip() for line in forward.splitlines())
    own = own.partition(" = self.attr1")[0]
    assert others == [
        "y = 2.0",
        f"z = reversed([{own}.attr2, y])",
        "a, b = (next(z), sum(z))",
        "return x * b",
    ]


def test_new_names_are_none_of_the_function_itself() -> None:
    helper = "def helper1(x):\n    local1 = x\n    return local1\n"
    text = helper + "def repro(x, y):\n    return helper1(y)"
    (made,) = absorb(SourceProgram(ast.parse(text), "repro", ones()))
    assert "local2 = y\n    local1 = local2\n    return local1" in made.write_definitions()
