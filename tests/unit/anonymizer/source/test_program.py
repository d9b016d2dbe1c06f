"""How large a program of Python is: the operations on tensors in it."""

from __future__ import annotations

import ast

import pytest

from anonymizer.source.program import SourceProgram, is_simple
from anonymizer.source.symbols.imports import write_imports
from tests.support.gathered import function_of, ones


@pytest.mark.parametrize(
    ("function", "count"),
    [
        ("a_list_that_is_appended_to", 2),
        ("an_inner_function_and_a_table", 2),
        ("arithmetic_on_sizes", 1),
        ("a_decision", 2),
        ("a_comparison", 1),
        ("functions_of_python", 2),
    ],
)
def test_what_python_does_is_no_tensor_operation(function: str, count: int) -> None:
    assert function_of("programs/operations", function).count_statements() == count


def test_a_number_is_simple_if_it_is_small_or_has_two_digits() -> None:
    assert is_simple(64) and is_simple(0.5) and is_simple(1e-5)
    assert not is_simple(65) and not is_simple(0.125)


def test_what_torch_imports_itself_is_not_imported_again() -> None:
    tree = ast.parse("torch.func.grad(torch.utils.checkpoint.checkpoint)(torch.utils.data.Dataset)")
    assert write_imports(tree) == ["import torch", "import torch.utils.checkpoint"]


@pytest.mark.parametrize(
    ("made", "returned", "nested"),
    [
        ("y = []", "(x + 1, y)", True),
        ("y = [each for each in x]", "(x + 1, y)", True),
        ("y = len(x)", "(x + 1, y)", True),
        ("y = x.sum()", "(x + 1, 3)", True),
        ("y = x.sum()", "(x + 1, y)", False),
        ("y = 2", "x + y", False),
    ],
)
def test_outputs_that_are_no_tensors_are_looked_into(
    made: str, returned: str, nested: bool
) -> None:
    tree = ast.parse(f"def repro(x):\n    {made}\n    return {returned}")
    assert SourceProgram(tree, "repro", ones()).is_nested() == nested
