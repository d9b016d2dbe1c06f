"""One level instead of three: blocks, methods and functions that are called once are written where
they are called.
"""

from __future__ import annotations

from typing import Any

import torch

from anonymizer.edits.absorption import absorb, replace_single_lists
from anonymizer.source.dead_code import find_undefined, tidy
from anonymizer.source.program import SourceProgram
from tests.support.gathered import program_of


def result(made: SourceProgram) -> Any:
    namespace: dict[str, Any] = {"torch": torch, "nn": torch.nn}
    exec(made.write_definitions(), namespace)
    return eval(made.callable_expression, namespace)(torch.linspace(-2, 2, 6).view(2, 3))


def test_a_program_of_five_definitions_becomes_one_that_computes_the_same() -> None:
    whole = program_of("absorb/nested")
    expected = result(whole)
    (whole,) = map(tidy, replace_single_lists(whole))
    while True:
        smaller = next(map(tidy, absorb(whole)), None)
        if smaller is None:
            break
        assert not find_undefined(smaller)
        assert torch.equal(result(smaller), expected)
        whole = smaller
    assert [getattr(node, "name", "") for node in whole.definitions.body] == ["Repro"]
    assert "self.attr3(" in whole.write_definitions()
