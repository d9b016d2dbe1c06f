"""Where did it change?

A bisection is a pure function of what is known: the points to ask next, and the two that enclose
the change.

Points are numbered in order of time; each is `BEFORE` (like the first one), `AFTER` (like the last
one) or `UNKNOWN` (it cannot be judged). Whoever asks keeps the answers, so a search can be gone on
with, and any number of points can be asked at once. If the answers go back and forth, the change
that is found is the last one: after it everything known is like the end.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class PointState(enum.Enum):
    """What is known of a point."""

    BEFORE = "before"
    AFTER = "after"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Bracket:
    """The last point known to be like the first, and the first one after it known to be like the
    last.
    """

    before: int
    after: int


def find_bracket(known: Mapping[int, PointState]) -> Bracket | None:
    """The narrowest bracket around the last change; None unless there is a `BEFORE` with an `AFTER`
    behind it.
    """
    ends = [point for point, state in known.items() if state is PointState.AFTER]
    starts = [point for point, state in known.items() if state is PointState.BEFORE]
    if not ends or not starts or max(ends) < max(starts):
        return None
    before = max(starts)
    return Bracket(before, min(point for point in ends if point > before))


def choose_probes(known: Mapping[int, PointState], width: int = 1) -> list[int]:
    """Up to `width` points to ask now: each in the middle of the largest gap that is left.

    Nothing is left when it is empty.
    """
    found = find_bracket(known)
    if found is None:
        return []
    marks = sorted(
        {point for point in known if found.before < point < found.after}
        | {found.before, found.after}
    )
    chosen: list[int] = []
    for _ in range(max(1, width)):
        size, start = max(((b - a, -a) for a, b in zip(marks, marks[1:])), default=(0, 0))
        if size < 2:
            break
        middle = -start + size // 2
        chosen.append(middle)
        marks = sorted([*marks, middle])
    return chosen


def list_unjudged(known: Mapping[int, PointState]) -> list[int]:
    """The points inside of the bracket that could not be judged: the change may lie at any of
    them.
    """
    found = find_bracket(known)
    if found is None:
        return []
    return sorted(point for point in known if found.before < point < found.after)


def find_turns(known: Mapping[int, PointState]) -> list[tuple[int, int]]:
    """All neighboring judged points that differ, in order: more than one where the answers go back
    and forth.
    """
    judged = sorted(point for point, state in known.items() if state is not PointState.UNKNOWN)
    return [(a, b) for a, b in zip(judged, judged[1:]) if known[a] is not known[b]]
