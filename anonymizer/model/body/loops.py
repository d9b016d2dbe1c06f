"""Repetition in a list of statements: what is done several times alike, each time with what the
time before left.

Found on structure alone. A repeated window may read values from before the loop, values of its own,
and values of the window before it; a value of *every* window may be read after the loop, as a list.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

_LONGEST = 80


@dataclass(frozen=True)
class Statement:
    """One statement for the search: what it is but for names, what it reads and makes, and the
    module it calls.

    `list_key` is equal for modules that can stand in one list, None where no module is called.
    """

    shape: Hashable
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    module: int | None = None
    list_key: Hashable = None


@dataclass(frozen=True)
class Loop:
    """`times` windows of `length` statements from `start` on.

    `carried`: value read by the first window -> the value of that window which the next one reads
    in its place. `modules`: for each statement of a window that calls a module, the modules by
    window. `collected`: value of the first window -> the values of all windows at its place, which
    are read after the loop.
    """

    start: int
    length: int
    times: int
    carried: Mapping[str, str]
    modules: Mapping[int, tuple[int, ...]]
    collected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The index after the last statement."""
        return self.start + self.length * self.times


def find(statements: Sequence[Statement], wanted_after: Mapping[str, int]) -> list[Loop]:
    """Loops that do not overlap, the one that saves most at each place.

    Args:
        statements: of a body, in order.
        wanted_after: name of a value -> index of the last statement that reads it.
    """
    kinds: dict[Hashable, int] = {}
    shapes = [kinds.setdefault((s.shape, s.list_key), len(kinds)) for s in statements]
    found: list[Loop] = []
    start = 0
    while start < len(statements):
        best: Loop | None = None
        for length in range(1, min(_LONGEST, (len(statements) - start) // 2) + 1):
            if shapes[start : start + length] != shapes[start + length : start + 2 * length]:
                continue
            loop = _find_longest(statements, shapes, start, length, wanted_after)
            if loop is not None and (best is None or _compute_saving(loop) > _compute_saving(best)):
                best = loop
        if best is not None:
            found.append(best)
            start = best.end
        else:
            start += 1
    return found


def _compute_saving(loop: Loop) -> int:
    return loop.length * (loop.times - 1)


def _find_longest(
    statements: Sequence[Statement],
    shapes: Sequence[int],
    start: int,
    length: int,
    wanted_after: Mapping[str, int],
) -> Loop | None:
    times = 1
    window = shapes[start : start + length]
    while shapes[start + times * length : start + (times + 1) * length] == window:
        times += 1
    while times >= 2:
        loop = _find_loop(statements, start, length, times)
        if isinstance(loop, Loop):
            collected = _collect(statements, loop, wanted_after)
            if _is_worthwhile(loop) and collected is not None:
                return replace(loop, collected=collected)
            times -= 1
        else:
            times = loop
    return None


def _is_worthwhile(loop: Loop) -> bool:
    """A loop is written for modules, or for a good deal of arithmetic."""
    return bool(loop.modules) or loop.length * loop.times >= 12 and loop.times > 2


def _find_loop(statements: Sequence[Statement], start: int, length: int, times: int) -> Loop | int:
    """The loop, or for how many windows it may hold at most."""
    producers = {
        name: (index - start) // length * length + (index - start) % length
        for index in range(start, start + length * times)
        for name in statements[index].makes
    }
    spots = {
        name: (offset, position)
        for index in range(start, start + length * times)
        for offset in [(index - start) % length]
        for position, name in enumerate(statements[index].makes)
    }
    carried: dict[str, str] = {}
    modules: dict[int, tuple[int, ...]] = {}
    for offset in range(length):
        column = [statements[start + k * length + offset] for k in range(times)]
        numbers = [statement.module for statement in column]
        called = [number for number in numbers if number is not None]
        if called:
            if len(set(called)) not in (1, times):
                return _find_first_repeat(called)
            row = tuple(called)
            if any(other != row and not set(other).isdisjoint(row) for other in modules.values()):
                return 1  # one module would have to stand in two lists
            modules[offset] = row
        for position in range(len(column[0].reads)):
            names = [statement.reads[position] for statement in column]
            good = _count_consistent(names, producers, spots, length, carried)
            if good < times:
                return good
    return Loop(start, length, times, carried, modules)


def _find_first_repeat(numbers: list[int]) -> int:
    for index in range(1, len(numbers)):
        if numbers[index] in numbers[:index]:
            return index
    return 1


def _count_consistent(
    names: list[str],
    producers: Mapping[str, int],
    spots: Mapping[str, tuple[int, int]],
    length: int,
    carried: dict[str, str],
) -> int:
    """For how many windows what stands at one place of the window is read alike."""
    first, second = names[0], names[1]
    inside = first in producers and producers[first] < length
    for k in range(1, len(names)):
        name = names[k]
        window = producers[name] // length if name in producers else None
        if inside:
            good = window == k and spots[name] == spots[first]
        elif name == first:
            good = second == first
        else:
            good = window == k - 1 and spots.get(name) == spots.get(second)
        if not good:
            return k
    if not inside and second != first:
        if carried.setdefault(first, second) != second or list(carried.values()).count(second) > 1:
            return 1
    elif not inside and first in carried:
        return 1  # read both as what came before and as what is always the same
    return len(names)


def _collect(
    statements: Sequence[Statement], loop: Loop, wanted_after: Mapping[str, int]
) -> dict[str, tuple[str, ...]] | None:
    """What is read after the loop of windows before the last: None unless it is read of all of
    them.
    """
    found: dict[str, tuple[str, ...]] = {}
    for offset in range(loop.length):
        column = [
            statements[loop.start + window * loop.length + offset] for window in range(loop.times)
        ]
        for names in zip(*(statement.makes for statement in column)):
            read = [wanted_after.get(name, -1) >= loop.end for name in names]
            if any(read[:-1]):
                if not all(read):
                    return None
                found[names[0]] = names
    return found
