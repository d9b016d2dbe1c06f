"""What stands in the place of an expression."""

from __future__ import annotations

import ast

from anonymizer.edits.expressions import insert_numbers, simplify
from anonymizer.source.program import SourceProgram
from tests.support.gathered import ones, program_of


def test_whether_a_module_is_in_training_is_written_out() -> None:
    texts = [made.write_definitions() for made in insert_numbers(program_of("inline/training"))]
    assert [text.rpartition(", ")[2].rstrip(")\n") for text in texts] == ["False", "True"]


def test_a_method_of_what_a_call_returns_and_a_comprehension_leave_their_values() -> None:
    text = "def repro(x):\n    return {k: self.layer(x).mean(k) for k in (0, 1)}"
    program = SourceProgram(ast.parse(text), "repro", ones())
    found = {made.write_definitions().rpartition("return ")[2] for made in simplify(program)}
    assert {"self.layer(x).mean(k)", "{k: self.layer(x) for k in (0, 1)}"} <= found
    assert "{k: self.mean(k) for k in (0, 1)}" not in found
    text = "def repro(x):\n    return [torch.relu(x) for _ in (0,)]"
    program = SourceProgram(ast.parse(text), "repro", ones())
    found = {made.write_definitions().rpartition("return ")[2] for made in simplify(program)}
    assert "torch.relu(x)" in found and not any("torch for" in each for each in found)
