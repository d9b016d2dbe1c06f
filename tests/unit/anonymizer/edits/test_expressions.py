"""What stands in the place of an expression."""

from __future__ import annotations

from anonymizer.edits.expressions import insert_numbers
from tests.support.gathered import program_of


def test_whether_a_module_is_in_training_is_written_out() -> None:
    texts = [made.write_definitions() for made in insert_numbers(program_of("inline/training"))]
    assert [text.rpartition(", ")[2].rstrip(")\n") for text in texts] == ["False", "True"]
