"""Expressions in the place of names."""

from __future__ import annotations

import ast

import pytest

from anonymizer.graph.identifiers import NameSubstitution


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("f(x, *pair)", "f(x, a, g(b))"),
        ("f(*pair, *more, **pair)", "f(a, g(b), *more, **(a, g(b)))"),
        ("f(g(*pair), pair)", "f(g(a, g(b)), (a, g(b)))"),
    ],
)
def test_a_tuple_that_a_call_spreads_is_its_arguments(call: str, written: str) -> None:
    pair = ast.parse("(a, g(b))", mode="eval").body
    tree = NameSubstitution({"pair": pair}).visit(ast.parse(call, mode="eval"))
    assert ast.unparse(tree) == written
