"""What nothing mentions goes, and what is read before it is bound makes no program."""

from __future__ import annotations

import ast

import pytest

from anonymizer.source.dead_code import find_undefined, tidy
from anonymizer.source.rewriting import rebuild
from tests.support.gathered import function_of, handmade


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
