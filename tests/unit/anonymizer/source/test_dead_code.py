"""What nothing mentions goes, no name is read before it is bound, and names stay apart."""

from __future__ import annotations

import ast

import pytest

from anonymizer.source.dead_code import find_undefined, renumber, tidy
from anonymizer.source.program import PrivateCounterparts, SourceProgram
from anonymizer.source.rewriting import rebuild
from tests.support.gathered import function_of, handmade, ones


@pytest.mark.parametrize(
    ("function", "early"),
    [
        ("given_by_a_try_that_reads_it", {"v"}),
        ("added_to_before_there_is_one", {"v"}),
        ("bound_by_a_walrus", set()),
        ("bound_in_one_branch", set()),
        ("bound_by_an_earlier_pass_of_a_for", set()),
        ("bound_by_an_earlier_pass_of_a_while", set()),
        ("bound_by_a_comprehension", set()),
        ("bound_before_the_inner_function_runs", set()),
        ("bound_in_a_handler", set()),
        ("bound_by_a_with", set()),
        ("bound_as_a_tuple", set()),
        ("bound_as_an_argument", set()),
        ("annotated_and_read_at_once", {"v"}),
    ],
)
def test_a_local_that_is_read_before_anything_binds_it_is_no_program(
    function: str, early: set[str]
) -> None:
    assert find_undefined(function_of("programs/locals", function)) == early


def test_definitions_that_nothing_mentions_go() -> None:
    program = rebuild(handmade("def f(x):\n    return torch.relu(x)"), {"relu"})
    extra = ast.parse("def helper9(a):\n    return helper8(a)\ndef helper8(a):\n    return a").body
    program.definitions.body[:0] = extra
    assert "helper" in program.write_definitions()
    assert "helper" not in tidy(program).write_definitions()


def test_two_functions_of_one_private_name_are_numbered_apart() -> None:
    gathered = handmade("def f(x):\n    return a.scale(x) + b.scale(x) + c(x)")
    entry = gathered["functions"]["f0"]
    for key, name, called in (
        ("f1", "scale", "a.scale"),
        ("f2", "scale", "b.scale"),
        ("f3", "shift", "c"),
    ):
        source = f"def {name}(x):\n    return x * {key[1:]}"
        gathered["functions"][key] = {**entry, "name": name, "source": source}
        leads = "chains" if "." in called else "refs"
        entry[leads] = {**entry[leads], called: {"kind": "function", "id": key}}
    made = rebuild(gathered, ())
    numbered = renumber(made)
    text = numbered.write_definitions()
    assert "helper1(arg1) + helper2(arg1) + helper3(arg1)" in text
    assert [text.count(f"def helper{at}(") for at in (1, 2, 3)] == [1, 1, 1]
    private = [numbered.private.reverse[f"helper{at}"] for at in (1, 2, 3)]
    assert private == ["scale", "scale", "shift"]


def test_a_number_that_an_edit_has_taken_is_given_to_no_other_name() -> None:
    definitions = ast.parse(
        "def helper1(arg1):\n    return arg1\n"
        "def helper3(arg1):\n    return helper1(arg1)\n"
        "def repro(arg1):\n    return helper3(arg1)"
    )
    words = {"helper3": "secret", "arg1": "x"}
    private = PrivateCounterparts({private: public for public, private in words.items()}, words)
    program = SourceProgram(definitions, "repro", ones(), private=private)
    text = renumber(program).write_definitions()
    assert "def helper1(" in text and "def helper2(" in text and "helper3" not in text
