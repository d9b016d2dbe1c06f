"""Which torch came first: a failure is a regression only where a surely earlier release was
right.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any


def is_earlier(one: str, two: str) -> bool:
    """Whether a torch release is surely older than another: by its number, or as a pre-release or
    nightly of the same one.

    Args:
        one: as `torch.__version__` has it, such as `2.13.0+cpu`.
        two: the other one.
    """
    first, second = _parse_version(one), _parse_version(two)
    if first[0] != second[0]:
        return first[0] < second[0]
    if first[1] is None or second[1] is None:
        return first[1] is not None and second[1] is None
    return 0 < first[1] < second[1]


def _parse_version(text: str) -> tuple[tuple[int, ...], int | None]:
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


def find_regressions(
    torch: str, differs_from: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The earlier releases that were right, which make a failure a regression.

    Args:
        torch: the release that fails, as `torch.__version__` has it.
        differs_from: rows of report.json with a `torch`.
    """
    return [row for row in differs_from if is_earlier(row["torch"], torch)]


def list_release_rows(
    report: Mapping[str, Any], others: Mapping[str, str]
) -> list[tuple[str, str]]:
    """What was seen on each release, oldest first: this one, those of `differs_from`, and others.
    Another build of this release that fails as well says nothing more.

    Args:
        report: report.json.
        others: release, as `torch.__version__` has it -> words for what was seen there.

    Returns:
        Rows of release and words.
    """
    own = report["torch"]
    seen, of = report["verdict"]["reproduced"]
    rows = {row["torch"]: "right" for row in report.get("differs_from") or ()}
    for release, words in others.items():
        if (
            _parse_version(release) != _parse_version(own)
            or release == own
            or is_right(words) is not False
        ):
            rows[release] = words
    rows.setdefault(own, f"fails, {seen} of {of} runs")

    def compare(one: str, two: str) -> int:
        return int(is_earlier(two, one)) - int(is_earlier(one, two))

    order = sorted(rows, key=functools.cmp_to_key(compare))
    return [(release, rows[release]) for release in order]


def describe_turns(rows: Sequence[tuple[str, str]]) -> str:
    """Between which of the releases it broke and was mended, as an apposition; empty where nothing
    turned.
    """
    states = [(release, is_right(seen)) for release, seen in rows]
    known = [(release, right) for release, right in states if right is not None]
    turns = [
        f"{'broken' if was else 'fixed'} between {before} and {after}"
        for (before, was), (after, right) in zip(known, known[1:])
        if was != right
    ]
    return f" ({', '.join(turns)})" if turns else ""


def is_right(seen: str) -> bool | None:
    """Whether words about a release say that the repro passes there; None where they do not
    tell.
    """
    word = seen.split()[0].strip(",.;:").lower() if seen.split() else ""
    if word in ("right", "passes", "fixed", "ok"):
        return True
    return False if word in ("fails", "wrong", "reproduces") else None
