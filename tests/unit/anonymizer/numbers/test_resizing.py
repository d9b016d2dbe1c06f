"""Numbers that say whose program it is, and numbers that everybody has."""

from __future__ import annotations

import math

import pytest

from anonymizer.numbers.resizing import (
    group_sizes,
    is_usual,
    list_generic_bases,
    round_to_digit,
)


@pytest.mark.parametrize(
    "value",
    [0.5, -1e-5, 0.02, 1 / math.sqrt(72), 13**0.5, 64**-0.25, math.sqrt(2 / math.pi), math.pi]
    + [0.044715, 1.702, 1e-12, float("-inf"), 2 * math.pi],
)
def test_a_float_that_everybody_has_says_nothing(value: float) -> None:
    assert is_usual(value)


@pytest.mark.parametrize("value", [0.37219, 161.8033, 0.037219, -2.71993, 0.1234567, 1.4142])
def test_a_float_of_somebodys_own_is_rounded_to_one_that_says_nothing(value: float) -> None:
    assert not is_usual(value)
    assert is_usual(round_to_digit(value))


def test_a_size_goes_with_its_multiples_and_meets_no_other() -> None:
    found = group_sizes([30011, 72, 144, 72, 8, 32, 64])
    assert [(group.base, group.members) for group in found] == [
        (30011, (30011,)),
        (72, (72, 144)),
    ]
    assert next(list_generic_bases(found[0], {64, 32})) == 16
    assert 72 not in list_generic_bases(found[1], set())
