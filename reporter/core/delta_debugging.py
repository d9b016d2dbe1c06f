"""Pure searches over abstract items; they ask questions and know nothing of programs, workers or
jobs.

Every search asks through one callable and follows one path: which question comes next depends on
the answers alone, never on how many are answered at a time, so the result is the same for any
number of workers.

- `minimize_list` asks a batch and gets the index of the first interesting proposal; chunks first,
  then single items.
- `bisect_prefix` asks one question, with hints about what would be asked next; a binary search.
- `bisect_suffix` does the same from the other end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

#: Proposals, best first; the index of the first interesting one, or None.
TestBatch = Callable[[Sequence[list[T]]], "int | None"]
#: The question to answer now, and the questions that may follow, likeliest first.
Ask = Callable[[int, Sequence[int]], bool]


def minimize_list(items: Sequence[T], test_batch: TestBatch[T]) -> list[T]:
    """A sub-list of `items` that is still interesting and of which no single item can be left
    out.

    `items` itself must be interesting; order is kept. Chunks are left out, from halves down to
    single items; after a success the search goes on behind the hole, since what failed with more
    items seldom succeeds with fewer. The last sweeps leave out single items until none of them
    can go: 1-minimal for any predicate. With `k` items to blame out of `n` it asks about `2
    k log2(n)` times.
    """
    kept = list(items)
    size = (len(kept) + 1) // 2
    while size > 1:
        kept = _sweep(kept, size, test_batch)[0]
        size = min((size + 1) // 2, max(1, len(kept) // 2))
    changed = bool(kept)
    while changed and kept:
        kept, changed = _sweep(kept, 1, test_batch)
    return kept


def _sweep(items: list[T], size: int, test_batch: TestBatch[T]) -> tuple[list[T], bool]:
    """Leave out each chunk of `size` once, from the front; whether any could go."""
    kept, start, changed = items, 0, False
    while start < len(kept):
        starts = range(start, len(kept), size)
        found = test_batch([kept[:at] + kept[at + size :] for at in starts])
        if found is None:
            break
        start, changed = starts[found], True
        kept = kept[:start] + kept[start + size :]
    return kept, changed


def bisect_prefix(n: int, ask: Ask, least: int = 0, workers: int = 1) -> int:
    """The length of the shortest interesting prefix, at least `least`; the prefix of length
    `n` is interesting.

    `log2(n - least)` questions. Where longer prefixes are not always interesting, the answer is
    still one whose next shorter neighbor is not.

    Args:
        ask: whether the prefix of a length is interesting, with the lengths that may follow.
        workers: `workers - 1` hints accompany each question.
    """
    low, high = least - 1, n
    while high - low > 1:
        middle = (low + high) // 2
        if ask(middle, _list_hints(low, high, workers - 1)):
            high = middle
        else:
            low = middle
    return high


def bisect_suffix(n: int, ask: Ask, workers: int = 1) -> int:
    """The start of the shortest interesting suffix of `n` items; the one that starts at 0 is
    interesting.

    It asks as `bisect_prefix` does, about starts in place of lengths.

    Args:
        ask: whether the suffix from a start on is interesting, with the starts that may follow.
        workers: `workers - 1` hints accompany each question.
    """

    def is_mirrored(length: int, hints: Sequence[int]) -> bool:
        return ask(n - length, [n - hint for hint in hints])

    return n - bisect_prefix(n, is_mirrored, workers=workers)


def _list_hints(low: int, high: int, count: int) -> list[int]:
    """The next questions of a binary search between `low` and `high`, level by level."""
    hints: list[int] = []
    middle = (low + high) // 2
    level = [(low, middle), (middle, high)]
    while level and len(hints) < count:
        following = []
        for left, right in level:
            if right - left > 1:
                between = (left + right) // 2
                hints.append(between)
                following += [(left, between), (between, right)]
        level = following
    return hints[: max(0, count)]
