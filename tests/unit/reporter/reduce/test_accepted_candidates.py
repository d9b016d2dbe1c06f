"""The smallest accepted candidate that fresh processes show."""

from __future__ import annotations

import pytest

from anonymizer.graph.repro import FUNCTION_CALL, ReproAssertion, ReproBody
from reporter.core.candidate import Candidate
from reporter.reduce.accepted_candidates import AcceptedCandidates


class Numbered:
    def __init__(self, number: int) -> None:
        self.number = number

    def build_body(self) -> ReproBody:
        return ReproBody(f"def repro(x):\n    return x + {self.number}", "repro", (), FUNCTION_CALL)


def accepted(count: int) -> tuple[AcceptedCandidates, list[Candidate]]:
    candidates = [Candidate(Numbered(number), ReproAssertion("crash")) for number in range(count)]
    kept = AcceptedCandidates()
    for candidate in candidates:
        kept.add(candidate)
        kept.add(candidate)  # one that is asked about twice
    return kept, candidates


@pytest.mark.parametrize("last", [0, 1, 5, 8])
def test_the_last_one_that_is_shown_is_found_with_few_questions(last: int) -> None:
    kept, candidates = accepted(10)
    asked = []

    def shows(candidate: Candidate) -> bool:
        asked.append(candidate)
        return candidates.index(candidate) <= last

    assert kept.find_last(shows) == candidates[last]
    assert candidates[-1] not in asked  # which is known
    assert len(asked) <= 5


@pytest.mark.parametrize("count", [0, 1, 4])
def test_there_is_none_where_not_even_the_first_is_shown(count: int) -> None:
    assert accepted(count)[0].find_last(lambda _: False) is None
