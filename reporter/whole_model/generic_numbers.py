"""Generic numbers, which identify no program, for one that is reported as a whole: all of them at
once, or as many as the failure allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from anonymizer.numbers.resize import Family, list_generic_bases
from reporter.core.candidate import Candidate
from reporter.reduce.questions import Questions

#: A candidate with the bases of families replaced, and with some floats rounded.
Made = Callable[[Mapping[Family, int], Sequence[float]], Candidate]
_TRIED = 3


def find_generic_numbers(
    seed: Candidate,
    families: Sequence[Family],
    floats: Sequence[float],
    taken: Iterable[int],
    made: Made,
    ask: Questions,
) -> Candidate:
    """The seed with other sizes and rounded floats, as far as the failure stays.

    Args:
        families: sizes that change together.
        floats: numbers that may identify the program.
        taken: sizes that mean something else.
        made: the candidate with these sizes and without these floats.
        ask: whether a candidate still fails.
    """
    used = set(taken)
    if not families and not floats:
        return seed
    wanted: dict[Family, int] = {}
    for family in families:
        wanted[family] = next(list_generic_bases(family, used | set(wanted.values())), family.base)
    at_once = made(wanted, floats)
    if ask.holds(at_once):
        return at_once
    kept: dict[Family, int] = {}

    def one(family: Family) -> bool:
        options = list(list_generic_bases(family, used | set(kept.values())))[:_TRIED]
        found = ask.pick((size, made({**kept, family: size}, ())) for size in options)
        if found is not None:
            kept[family] = found[0]
        return found is not None

    for family in families:
        if not one(family) and len(family.members) > 1:
            # 24 may be three times 8 and only happen to be twice 12
            for member in family.members:
                one(Family(member, (member,)))
    gone: list[float] = []
    for value in floats:
        if ask.holds(made(kept, [*gone, value])):
            gone.append(value)
    return made(kept, gone) if kept or gone else seed
