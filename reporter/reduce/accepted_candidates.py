"""What the search has accepted, from the first candidate to the smallest.

Warm workers have run other programs before. Where they show of the smallest candidate what no fresh
process shows, the one to report is the smallest that fresh processes show as well.
"""

from __future__ import annotations

from collections.abc import Callable

from reporter.core.candidate import Candidate


class AcceptedCandidates:
    """Candidates in the order of their acceptance, each made from the one before."""

    def __init__(self) -> None:
        self._candidates: list[Candidate] = []

    def add(self, candidate: Candidate) -> None:
        """Adds a candidate, unless it is the same as the last one."""
        if not self._candidates or self._candidates[-1] != candidate:
            self._candidates.append(candidate)

    def find_last(self, shows: Callable[[Candidate], bool]) -> Candidate | None:
        """The last candidate, besides the current one, for which `shows` is true; None where it is
        false for the first.

        A binary search: it assumes that `shows` changes once, from true to false.
        """
        candidates = self._candidates[:-1]
        if not candidates or not shows(candidates[0]):
            return None
        good, bad = 0, len(candidates)
        while bad - good > 1:
            middle = (good + bad) // 2
            if shows(candidates[middle]):
                good = middle
            else:
                bad = middle
        return candidates[good]
