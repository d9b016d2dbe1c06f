"""Which of two releases came first."""

from __future__ import annotations

import pytest

from templates.releases import is_earlier

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
