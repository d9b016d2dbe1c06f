"""What an object holds, without the object."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import pytest

from anonymizer.edits.absorption import absorb
from anonymizer.edits.attributes import (
    free_attributes,
    merge_objects,
    pass_containers,
    pass_held_values,
)
from anonymizer.edits.reduce import reduce
from anonymizer.source.dead_code import tidy
from anonymizer.source.program import SourceProgram

HELD = """
class Thing1:
    def __init__(self, size):
        self.attr2 = collections.deque(maxlen=size)
class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr1 = Thing1(2)
    def forward(self, x):
        self.attr1.attr2.append(x)
        return x + 1
class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr3 = Block1()
    def forward(self, x):
        return self.attr3(x)
state = lambda model: [len(model.attr3.attr1.attr2)]
"""
COUNTING = """
class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr1 = 0
        self.attr2 = 3
        self.attr3 = []
    def forward(self, x):
        self.attr1 += 1
        return x * self.attr2
state = lambda model: [{k: v for k, v in vars(model).items()}]
"""
FREED = """
state1 = {}
def repro(x):
    state1['a'] = x
    return x
state = lambda model: [list(state1)]
"""
GIVEN = """
class Thing1:
    def __init__(self, size):
        self.attr1 = Thing2()
        self.attr2 = {'size': size}
    def method1(self, x):
        return self.attr1(x) * self.attr2['size']
class Thing2:
    def __call__(self, y):
        return y + 1
def repro(thing, x):
    return thing.method1(x)
"""


def program(text: str, made: str = "Repro()", given: str = "(torch.ones(2),)") -> SourceProgram:
    inputs = ast.parse(f"return {given}")
    return SourceProgram(ast.parse(text), made, inputs, state_calls=1, has_own_state=True)


def test_what_a_held_object_holds_is_held_by_its_owner() -> None:
    (made,) = merge_objects(program(HELD))
    text = made.write_definitions()
    assert "self.attr2 = collections.deque(maxlen=2)" in text and "Thing1" not in text
    assert "self.attr2.append(x)" in text and "[len(model.attr3.attr2)]" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + 1", "x + helper1(self.attr1)"),
        ("x + 1", "x + Thing1(3).attr2.maxlen"),
        ("x + 1", "x + self.attr2"),
        ("class Thing1:", "class Thing1(nn.Module):"),
        ("class Thing1:", "class Thing1:\n    attr4 = 1"),
    ],
)
def test_an_object_that_is_more_than_what_it_holds_stays(old: str, new: str) -> None:
    assert list(merge_objects(program(HELD.replace(old, new)))) == []


def test_the_container_of_the_only_object_of_its_kind_is_a_variable() -> None:
    text = HELD.replace("maxlen=size", "maxlen=2").replace("self, size", "self")
    (made,) = free_attributes(program(text.replace("Thing1(2)", "Thing1()")))
    written = made.write_definitions()
    assert written.startswith("attr2 = collections.deque(maxlen=2)\n")
    assert "        attr2.append(x)" in written and "[len(attr2)]" in written


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.attr1 = Thing1(2)", "self.attr1 = [Thing1(2), Thing1(2)][0]"),
        ("return self.attr3(x)", "return Block1()(self.attr3(x))"),
        ("return self.attr3(x)", "return self.attr3(attr2)"),
        ("maxlen=2", "maxlen=size"),
        ("collections.deque(maxlen=2)", "[Block1]"),
    ],
)
def test_the_container_of_several_objects_or_of_what_they_are_given_stays(
    old: str, new: str
) -> None:
    text = HELD.replace("maxlen=size", "maxlen=2").replace(old, new)
    assert list(free_attributes(program(text))) == []
    assert list(free_attributes(replace(program(HELD), has_own_state=False))) == []


def test_a_number_that_changes_is_a_variable_and_stays_compared() -> None:
    count, items = (each.write_definitions() for each in free_attributes(program(COUNTING)))
    assert "global attr1\n        attr1 += 1" in count and count.endswith(".items()}, attr1]")
    assert items.startswith("attr3 = []\n") and items.endswith(".items()}, attr3]")


def test_a_container_is_an_argument_that_is_compared() -> None:
    (made,) = pass_containers(program(FREED, "repro"))
    assert made.write_definitions().startswith("def repro(x, state1):\n    state1['a'] = x")
    assert made.write_inputs() == ["return (torch.ones(2), {})"]
    assert made.observes_arguments and not made.has_own_state
    assert "lambda" not in made.write_definitions()
    counts = FREED.replace("def repro", "state2 = []\ndef repro").replace("(state1)", "(state2)")
    first, second = pass_containers(program(counts, "repro"))
    assert first.has_own_state and second.has_own_state


@pytest.mark.parametrize(
    "one",
    [
        program(FREED.replace("return x", "return helper1(x)\ndef helper1(x): state1"), "repro"),
        program(FREED.replace("state1['a'] = x", "global state1; state1 = {}"), "repro"),
        program(FREED.replace("{}", "{'a': repro}"), "repro"),
        program(FREED.replace("(x)", "(*x)"), "repro"),
        program(FREED.replace("repro(x)", "repro(x, y)"), "repro", "(torch.ones(2), [])"),
        replace(program(FREED, "repro"), has_own_state=False),
    ],
)
def test_a_container_that_is_not_the_functions_alone_stays(one: SourceProgram) -> None:
    assert list(pass_containers(one)) == []


def test_what_a_given_object_holds_is_an_argument() -> None:
    text = GIVEN.replace("thing.method1(x)", "x * thing.attr2['size']")
    (made,) = pass_held_values(program(text, "repro", "(Thing1(3), torch.ones(2))"))
    assert "def repro(thing, x, attr2):\n    return x * attr2['size']" in made.write_definitions()
    assert made.write_inputs() == ["return (Thing1(3), torch.ones(2), {'size': 3})"]
    written = text.replace("return x", "thing.attr2 = 1\n    return x")
    assert list(pass_held_values(program(written, "repro", "(Thing1(3), torch.ones(2))"))) == []


def test_the_method_of_a_given_object_is_written_where_it_is_called() -> None:
    one = program(GIVEN, "repro", "(Thing1(3), torch.ones(2))")
    texts = [made.write_definitions() for made in absorb(one)]
    inner, whole = sorted(texts, key=lambda text: "thing.method1(x)" not in text)
    assert "return thing.attr1(x) * thing.attr2['size']" in whole and "method1" not in whole
    assert "y = x\n        return (y + 1) * self.attr2['size']" in inner


def test_a_module_that_only_hands_on_goes_though_its_state_is_compared() -> None:
    (made,) = map(tidy, absorb(program(HELD)))
    text = made.write_definitions()
    assert "class Block1" not in text and "[len(model.attr1.attr2)]" in text


def test_what_is_compared_after_an_edit_stays_so_in_the_reduction() -> None:
    def find_first(programs: Sequence[SourceProgram]) -> int | None:
        texts = [each.write_definitions() for each in programs]
        is_compared = [each.observes_arguments for each in programs]
        found = [
            at
            for at, text in enumerate(texts)
            if "['a'] = x" in text and (is_compared[at] or "list(state1)" in text)
        ]
        return found[0] if found else None

    made = reduce(program(FREED, "repro"), find_first)
    assert made.write_definitions().startswith("def repro(x, ")
    assert made.observes_arguments and not made.has_own_state
