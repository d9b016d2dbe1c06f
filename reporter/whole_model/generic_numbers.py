"""Generic numbers, which identify no program, for one that is reported as a whole: all of them at
once, or as many as the failure allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from anonymizer.numbers.resize import SizeGroup, list_generic_bases
from reporter.core.candidate import Candidate
from reporter.reduce.questions import Questions

#: A candidate with the bases of groups replaced, and with some floats rounded.
Made = Callable[[Mapping[SizeGroup, int], Sequence[float]], Candidate]
_TRIED = 3


def find_generic_numbers(
    seed: Candidate,
    groups: Sequence[SizeGroup],
    floats: Sequence[float],
    taken: Iterable[int],
    made: Made,
    ask: Questions,
) -> Candidate:
    """The seed with other sizes and rounded floats, as far as the failure stays.

    Args:
        groups: sizes that change together.
        floats: numbers that may identify the program.
        taken: sizes that mean something else.
        made: the candidate with these sizes and without these floats.
        ask: whether a candidate still fails.
    """
    used = set(taken)
    if not groups and not floats:
        return seed
    wanted: dict[SizeGroup, int] = {}
    for group in groups:
        wanted[group] = next(list_generic_bases(group, used | set(wanted.values())), group.base)
    at_once = made(wanted, floats)
    if ask.holds(at_once):
        return at_once
    kept: dict[SizeGroup, int] = {}

    def one(group: SizeGroup) -> bool:
        options = list(list_generic_bases(group, used | set(kept.values())))[:_TRIED]
        found = ask.pick((size, made({**kept, group: size}, ())) for size in options)
        if found is not None:
            kept[group] = found[0]
        return found is not None

    for group in groups:
        if not one(group) and len(group.members) > 1:
            # 24 may be three times 8 and only happen to be twice 12
            for member in group.members:
                one(SizeGroup(member, (member,)))
    gone: list[float] = []
    for value in floats:
        if ask.holds(made(kept, [*gone, value])):
            gone.append(value)
    return made(kept, gone) if kept or gone else seed
