"""What is called more than once, or does not end at its end, is not written where it is called."""

from __future__ import annotations

import pytest

from anonymizer.edits.absorption import absorb
from tests.support.gathered import program_of


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
