"""Generic numbers, which identify no program, for one that is reported as a whole: all of them at
once, or as many as the failure allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from anonymizer.numbers import resizing, source_resizing
from anonymizer.numbers.resizing import SizeGroup, list_generic_bases
from reporter.core.candidate import Candidate
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.source_candidates import RewrittenProgram
from reporter.whole_model.traced_model import TracedModel, with_program

_TRIED = 3
_P = TypeVar("_P")


class Numbers(Protocol[_P]):
    """The numbers of a kind of program: `resizing` of a traced one, `source_resizing` of source."""

    def find_size_groups(self, program: _P) -> list[SizeGroup]:
        """Sizes that change together."""

    def collect_taken_sizes(self, program: _P) -> frozenset[int]:
        """Sizes that mean something else."""

    def list_unusual_floats(self, program: _P) -> tuple[float, ...]:
        """Numbers that may identify the program."""

    def replace_sizes(
        self, program: _P, bases: Mapping[SizeGroup, int], floats: Iterable[float]
    ) -> _P:
        """The program with these sizes and without these floats."""


def replace_private_numbers(initial: Candidate, ask: Questions) -> Candidate:
    """The whole model with generic numbers, as far as the failure stays."""
    whole = initial.content
    if isinstance(whole, RewrittenProgram):
        return _find_generic_numbers(
            initial,
            whole.program,
            source_resizing,
            lambda program: replace(initial, content=RewrittenProgram(program)),
            ask,
        )
    assert isinstance(whole, TracedModel)
    return _find_generic_numbers(
        initial, whole.program, resizing, lambda program: with_program(initial, program), ask
    )


def _find_generic_numbers(
    initial: Candidate,
    program: _P,
    numbers: Numbers[_P],
    make: Callable[[_P], Candidate],
    ask: Questions,
) -> Candidate:
    """The candidate, whose program this is, with other sizes and rounded floats."""

    def make_candidate(bases: Mapping[SizeGroup, int], gone: Sequence[float]) -> Candidate:
        return make(numbers.replace_sizes(program, bases, gone))

    groups, floats = numbers.find_size_groups(program), numbers.list_unusual_floats(program)
    used = numbers.collect_taken_sizes(program)
    if not groups and not floats:
        return initial
    at_once = make_candidate(_choose_bases(groups, used), floats)
    if ask.holds(at_once):
        return at_once
    kept = _find_bases(groups, used, lambda bases: make_candidate(bases, ()), ask)
    gone: list[float] = []
    for value in floats:
        if ask.holds(make_candidate(kept, [*gone, value])):
            gone.append(value)
    return make_candidate(kept, gone) if kept or gone else initial


def _choose_bases(groups: Iterable[SizeGroup], used: frozenset[int]) -> dict[SizeGroup, int]:
    """The first generic size for each group, different ones for all; its own where none is left."""
    chosen: dict[SizeGroup, int] = {}
    for group in groups:
        chosen[group] = next(list_generic_bases(group, used | set(chosen.values())), group.base)
    return chosen


def _find_bases(
    groups: Iterable[SizeGroup],
    used: frozenset[int],
    make_candidate: Callable[[Mapping[SizeGroup, int]], Candidate],
    ask: Questions,
) -> dict[SizeGroup, int]:
    """Generic sizes with which the failure stays, found group by group."""
    kept: dict[SizeGroup, int] = {}

    def try_group(group: SizeGroup) -> bool:
        options = list(list_generic_bases(group, used | set(kept.values())))[:_TRIED]
        found = ask.pick((size, make_candidate({**kept, group: size})) for size in options)
        if found is not None:
            kept[group] = found[0]
        return found is not None

    for group in groups:
        if not try_group(group) and len(group.members) > 1:
            # 24 may be three times 8 and only happen to be twice 12
            for member in group.members:
                try_group(SizeGroup(member, (member,)))
    return kept
