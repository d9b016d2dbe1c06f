"""The search for a change, as a pure function: whatever the answers, it ends, and what it names was
answered that way.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from reporter.bisect.search import (
    PointState,
    choose_probes,
    find_bracket,
    find_turns,
    list_unjudged,
)

B, A, U = PointState.BEFORE, PointState.AFTER, PointState.UNKNOWN
Oracle = Callable[[int], PointState]


def search(size: int, oracle: Oracle, width: int) -> tuple[dict[int, PointState], int]:
    """Everything that was learned, and how many rounds of questions it took; each point is asked
    once.
    """
    known = {0: B, size - 1: A}
    rounds = 0
    while chosen := choose_probes(known, width):
        assert len(chosen) == len(set(chosen)) <= width
        assert not set(chosen) & set(known)
        known.update((point, oracle(point)) for point in chosen)
        rounds += 1
        assert rounds <= size
    return known, rounds


@given(st.integers(2, 300), st.data(), st.integers(1, 5))
def test_one_change_is_found_in_logarithmically_many_rounds(
    size: int, data: st.DataObject, width: int
) -> None:
    first = data.draw(st.integers(1, size - 1))
    known, rounds = search(size, lambda point: A if point >= first else B, width)
    found = find_bracket(known)
    assert found is not None and (found.before, found.after) == (first - 1, first)
    assert rounds <= math.ceil(math.log2(size))
    assert find_turns(known) == [(first - 1, first)] and not list_unjudged(known)


@given(st.lists(st.sampled_from([B, A, U]), max_size=60), st.integers(1, 5))
def test_any_answers_give_neighbors_that_were_answered_so(
    middle: list[PointState], width: int
) -> None:
    truth = [B, *middle, A]
    known, _ = search(len(truth), truth.__getitem__, width)
    found = find_bracket(known)
    assert found is not None
    assert truth[found.before] is B and truth[found.after] is A
    # everything between them was asked and could not be judged
    inside = list(range(found.before + 1, found.after))
    assert list_unjudged(known) == inside and all(truth[point] is U for point in inside)
    # after the change nothing that was asked is like before it
    assert all(state is not B for point, state in known.items() if point > found.before)


@given(st.integers(3, 80), st.data(), st.integers(1, 4))
def test_unknown_points_hide_no_more_than_they_must(
    size: int, data: st.DataObject, width: int
) -> None:
    first = data.draw(st.integers(1, size - 1))
    unknown = data.draw(st.sets(st.integers(1, size - 2)))
    known, _ = search(
        size, lambda point: U if point in unknown else (A if point >= first else B), width
    )
    found = find_bracket(known)
    assert found is not None
    assert found.before == max(p for p in range(first) if p not in unknown)
    assert found.after == min(p for p in range(first, size) if p not in unknown)


@given(st.integers(2, 60), st.randoms(use_true_random=False), st.integers(1, 4))
def test_answers_by_chance_end_the_search_too(size: int, random: object, width: int) -> None:
    def chance(_: int) -> PointState:
        return random.choice([B, A, U])  # type: ignore[attr-defined, no-any-return]

    known, _ = search(size, chance, width)
    found = find_bracket(known)
    assert found is not None and known[found.before] is B and known[found.after] is A


@given(st.integers(2, 100), st.data())
def test_a_search_goes_on_from_what_is_known(size: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, size - 1))

    def truth(point: int) -> PointState:
        return A if point >= first else B

    whole, _ = search(size, truth, 1)
    some = data.draw(st.sets(st.sampled_from(sorted(whole))))
    known = {0: B, size - 1: A, **{point: whole[point] for point in some}}
    while chosen := choose_probes(known, 1):
        known.update((point, truth(point)) for point in chosen)
    assert find_bracket(known) == find_bracket(whole)


def test_without_two_ends_there_is_nothing_to_ask() -> None:
    for known in ({}, {0: B}, {0: A, 5: B}, {0: U, 5: A}):
        assert (
            choose_probes(known) == []
            and find_bracket(known) is None
            and list_unjudged(known) == []
        )
