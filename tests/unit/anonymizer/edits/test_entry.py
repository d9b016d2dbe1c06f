"""What an entry without state of its own looks like."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from anonymizer.edits.entry import (
    forget_evaluation,
    free_class_attributes,
    free_entry,
    pass_outputs,
    pass_tensors,
)
from anonymizer.source.program import SourceProgram

STATEFUL = """
class Repro(nn.Module):
    attr1 = []
    def __init__(self):
        super().__init__()
        self.attr2 = torch.randn(2)
        self.attr3 = nn.Parameter(torch.ones(2))
        self.register_buffer("attr4", torch.arange(2))
        self.attr5 = torch.randn(2)
    def forward(self, x):
        Repro.attr1.append(x)
        self.attr5 = x
        return x + self.attr2 * self.attr3 + self.attr4 + self.attr5
state = lambda model: [len(Repro.attr1)]
"""
ALONE = "class Repro(nn.Module):\n    def forward(self, x):\n        return x + 1"


def program(text: str, made: str = "Repro()") -> SourceProgram:
    return SourceProgram(ast.parse(text), made, ast.parse("return (torch.ones(2),)"))


def test_a_tensor_that_the_entry_makes_and_keeps_is_an_argument() -> None:
    made = list(pass_tensors(program(STATEFUL)))
    assert [ast.unparse(each.list_arguments()[1]) for each in made] == [
        "torch.randn(2)",
        "torch.ones(2).requires_grad_()",
        "torch.arange(2)",
    ]
    text = made[0].write_definitions()
    assert "forward(self, x, attr2)" in text and "x + attr2 * self.attr3" in text
    assert "torch.randn(2)" not in text.partition("self.attr3")[0]


def test_a_container_that_the_entry_only_reads_is_an_argument() -> None:
    text = STATEFUL.replace("torch.randn(2)", "{'a': 2}", 1)
    text = text.replace("self.attr2 *", "self.attr2['a'] *")
    made = next(pass_tensors(program(text)))
    assert ast.unparse(made.list_arguments()[1]) == "{'a': 2}"
    assert "x + attr2['a'] * self.attr3" in made.write_definitions()
    for old, new in (("self.attr5 = x", "self.attr2 = {}"), ("{'a': 2}", "{'a': self}")):
        kept = program(text.replace(old, new))
        assert all("'a'" not in " ".join(each.write_inputs()) for each in pass_tensors(kept))


EMBEDDING = """
class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr1 = nn.Embedding(31, 8)
        self.attr2 = nn.Linear(8, 8)
    def forward(self, x, y):
        return self.attr2(self.attr1(x)) + self.attr1(y)
"""


def test_what_an_embedding_looks_up_is_an_argument() -> None:
    given = "x = torch.randint(0, 31, (4, 9)).masked_fill(torch.rand(4, 9) < 0.1, 0)\nreturn (x, y)"
    before = SourceProgram(ast.parse(EMBEDDING), "Repro()", ast.parse(given))
    made = list(pass_outputs(before))
    assert [ast.unparse(each.list_arguments()[0]) for each in made] == [
        "torch.randn(4, 9, 8)",
        "torch.randn(4, 9, 8, requires_grad=True)",
    ]
    assert all(ast.unparse(each.list_arguments()[1]) == "y" for each in made)
    assert "self.attr2(x) + self.attr1(y)" in made[0].write_definitions()
    assert not list(pass_outputs(program(EMBEDDING.replace("31, 8", "31, width"))))


def test_what_another_layer_makes_is_an_argument_with_a_gradient() -> None:
    text = EMBEDDING.replace("self.attr2(self.attr1(x)) + self.attr1(y)", "self.attr2(x)")
    for layer, sizes in (("nn.Linear(8, 3)", "4, 3"), ("nn.LayerNorm(8)", "4, 8")):
        (made,) = pass_outputs(
            SourceProgram(
                ast.parse(text.replace("nn.Linear(8, 8)", layer)),
                "Repro()",
                ast.parse("return (torch.ones(4, 8),)"),
            )
        )
        (given,) = made.list_arguments()
        assert ast.unparse(given) == f"torch.randn({sizes}, requires_grad=True)"
        assert "return x\n" in made.write_definitions() + "\n"


def test_an_attribute_of_a_class_is_a_variable() -> None:
    (made,) = free_class_attributes(program(STATEFUL))
    text = made.write_definitions()
    assert text.startswith("attr1 = []\nclass Repro") or "attr1 = []\n\nclass Repro" in text
    assert "    attr1.append(x)" in text and "[len(attr1)]" in text


@pytest.mark.parametrize(
    "text",
    [
        STATEFUL.replace("self.attr5 = x", "Repro.attr1 = []"),
        STATEFUL.replace("self.attr5 = x", "type(self).attr1"),
        STATEFUL.replace("(nn.Module)", "(enum.Enum)"),
    ],
)
def test_an_attribute_that_is_assigned_or_belongs_to_a_special_class_stays(text: str) -> None:
    assert not list(free_class_attributes(program(text)))


@pytest.mark.parametrize("made", ["Repro()", "Repro().eval()"])
def test_a_class_that_only_has_a_forward_is_a_function(made: str) -> None:
    own = replace(program(ALONE, made), has_own_state=True)
    (freed,) = free_entry(own)
    assert freed.callable_expression == "repro" and not freed.makes_module()
    assert freed.write_definitions() == "def repro(x):\n    return x + 1"
    reading = ast.parse(ALONE.replace("x + 1", "self.training"))
    assert not list(free_entry(replace(own, definitions=reading)))
    assert not list(free_entry(replace(own, definitions=ast.parse(STATEFUL))))
    assert not list(free_entry(program(ALONE, made)))


def test_a_module_that_need_not_be_in_evaluation_mode_is_left_as_it_is_made() -> None:
    made = program(ALONE, "Repro().eval()")
    assert [each.callable_expression for each in forget_evaluation(made)] == ["Repro()"]
    assert list(forget_evaluation(program(ALONE, "Repro()"))) == []
