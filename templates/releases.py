"""Which torch came first: a failure is a regression only where a surely earlier release was right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any


def is_earlier(one: str, two: str) -> bool:
    """Whether torch version `one` is surely older than `two`: by release, or as a pre-release or nightly of the same one."""
    first, second = _version(one), _version(two)
    if first[0] != second[0]:
        return first[0] < second[0]
    if first[1] is None or second[1] is None:
        return first[1] is not None and second[1] is None
    return 0 < first[1] < second[1]


def _version(text: str) -> tuple[tuple[int, ...], int | None]:
    """Release numbers, and the date of a nightly: 0 for another pre-release, None for a release."""
    public = text.split("+")[0]
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?(.*)", public)
    if found is None:
        return (), 0
    *numbers, rest = found.groups()
    date = re.match(r"\.dev(\d+)", rest)
    is_release = not rest or rest.startswith(".post")
    return tuple(int(number or 0) for number in numbers), (
        None if is_release else int(date.group(1)) if date else 0
    )


def regressions(torch: str, differs_from: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those rows of `differs_from` that make the failure in `torch` a regression: earlier releases that were right."""
    return [row for row in differs_from if is_earlier(row["torch"], torch)]
