"""Which of two releases came first, and which rows the table of releases has."""

from __future__ import annotations

import pytest

from templates.release_order import is_earlier, list_release_rows

ORDER: list[tuple[str, str, bool]] = [
    ("2.6.0", "2.13.0+cpu", True),
    ("2.13.0+cpu", "2.6.0", False),
    ("2.13.0", "2.13.0", False),
    ("2.13.0+cu124", "2.13.0+cpu", False),
    ("2.14.0.dev20260801+cpu", "2.14.0", True),
    ("2.14.0.dev20260801", "2.14.0.dev20260802", True),
    ("2.14.0.dev20260802", "2.14.0.dev20260801", False),
    ("2.14.0a0+git12345", "2.14.0.dev20260801", False),  # who knows
    ("2.13.0", "2.13.0.post1", False),
    ("2.13.0.post1", "2.13.0", False),
    ("2.13", "2.13.1", True),
    ("unknown", "unknown", False),
]


@pytest.mark.parametrize(("one", "two", "expected"), ORDER)
def test_which_release_came_first(one: str, two: str, expected: bool) -> None:
    assert is_earlier(one, two) is expected


@pytest.mark.parametrize(
    ("words", "is_kept"),
    [("fails, 1 of 1 runs", False), ("right", True), ("another failure", True)],
)
def test_another_build_of_the_same_release_has_a_row_where_it_does_something_else(
    words: str, is_kept: bool
) -> None:
    report = {"torch": "2.13.0+cpu", "verdict": {"reproduced": [3, 3]}}
    rows = dict(list_release_rows(report, {"2.13.0": words, "2.6.0": "right"}))
    assert ("2.13.0" in rows) is is_kept
    assert rows["2.13.0+cpu"] == "fails, 3 of 3 runs" and rows["2.6.0"] == "right"
