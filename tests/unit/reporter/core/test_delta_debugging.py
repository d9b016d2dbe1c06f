"""Property tests of the pure searches: the promised minimum, the promised number of questions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from reporter.core.delta_debugging import bisect_prefix, bisect_suffix, minimize_list


class Oracle:
    """Interesting are the lists with at least one of ``cores`` in them; counts the questions."""

    def __init__(self, cores: Sequence[frozenset[int]]) -> None:
        self.cores = cores
        self.questions = 0

    def is_interesting(self, items: Sequence[int]) -> bool:
        return any(core <= set(items) for core in self.cores)

    def first(self, batch: Sequence[list[int]]) -> int | None:
        for index, items in enumerate(batch):
            self.questions += 1
            if self.is_interesting(items):
                return index
        return None


sets = st.frozensets(st.integers(0, 59), max_size=6)


@given(st.integers(0, 60), st.lists(sets, min_size=1, max_size=3))
def test_result_is_interesting_and_no_item_can_go(n: int, cores: list[frozenset[int]]) -> None:
    whole = list(range(n))
    oracle = Oracle([*cores, frozenset(whole)])
    kept = minimize_list(whole, oracle.first)
    assert oracle.is_interesting(kept)
    assert kept == sorted(kept)
    for place in range(len(kept)):
        assert not oracle.is_interesting(kept[:place] + kept[place + 1 :])


@given(st.integers(1, 40), st.integers(0, 2**40))
def test_one_minimal_for_predicates_that_are_not_monotone(n: int, noise: int) -> None:
    def interesting(items: Sequence[int]) -> bool:
        return len(items) == n or hash((noise, *items)) % 3 == 0

    def first(batch: Sequence[list[int]]) -> int | None:
        return next((at for at, items in enumerate(batch) if interesting(items)), None)

    kept = minimize_list(list(range(n)), first)
    assert interesting(kept)
    assert not any(interesting(kept[:at] + kept[at + 1 :]) for at in range(len(kept)))


@given(st.integers(1, 5000), st.data())
@settings(max_examples=200)
def test_single_culprit_takes_logarithmically_many_questions(n: int, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(0, n - 1))
    oracle = Oracle([frozenset([culprit])])
    assert minimize_list(list(range(n)), oracle.first) == [culprit]
    assert oracle.questions <= 3 * math.log2(n + 1) + 4


def test_empty_list_is_found() -> None:
    oracle = Oracle([frozenset()])
    assert minimize_list([1, 2, 3], oracle.first) == []


@given(st.integers(0, 3000), st.data(), st.integers(1, 9))
def test_bisect_finds_the_step_whatever_the_number_of_workers(
    n: int, data: st.DataObject, workers: int
) -> None:
    step = data.draw(st.integers(0, n))
    asked: list[int] = []
    hinted: set[int] = set()

    def ask(length: int, hints: Sequence[int]) -> bool:
        if workers >= 4 and asked:  # three hints are the two next levels' first, so they come true
            assert length in hinted
        hinted.update(hints)
        assert len(hints) <= workers - 1
        asked.append(length)
        return length >= step

    assert bisect_prefix(n, ask, workers=workers) == step
    assert len(asked) <= math.log2(n + 1) + 1

    again: list[int] = []

    def alone(length: int, hints: Sequence[int]) -> bool:
        again.append(length)
        return length >= step

    bisect_prefix(n, alone)
    assert asked == again


@given(st.integers(0, 3000), st.data())
def test_bisect_suffix_mirrors(n: int, data: st.DataObject) -> None:
    step = data.draw(st.integers(0, n))
    assert bisect_suffix(n, lambda start, hints: start <= step, workers=3) == step


@given(st.lists(st.booleans(), min_size=1, max_size=50))
def test_bisect_without_order_still_ends_at_a_step(answers: list[bool]) -> None:
    n = len(answers)

    def interesting(length: int) -> bool:
        return length == n or answers[length]

    found = bisect_prefix(n, lambda length, hints: interesting(length))
    assert interesting(found)
    assert found == 0 or not interesting(found - 1)
