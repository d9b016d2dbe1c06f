"""The commands of an installer, and what is told of one that failed."""

from __future__ import annotations

import pytest

from reporter.environments.install import choose_numpy, find_reason, list_plainer_builds
from reporter.environments.release import Release


def test_numpy_is_one_that_the_release_can_use() -> None:
    wanted = ["2.0.1", "2.2.2", "2.3.0", "2.3.0.dev20240301", "2.13.0", "2.15.0+cpu"]
    assert [choose_numpy(version) for version in wanted] == ["numpy<2"] * 2 + ["numpy"] * 4


def test_the_build_for_this_machine_is_tried_before_the_plain_one() -> None:
    plain = Release("2.6.0", version="2.6.0")
    assert [item.backend for item in list_plainer_builds(plain)] == ["auto", None]
    named = Release("2.6.0", version="2.6.0", backend="cu124")
    assert list(list_plainer_builds(named)) == [named]


SAID = [
    ("error: No space left on device (os error 28)", "the disk is full"),
    ("error: Failed to fetch: `https://x/`\n  Caused by: dns error", "the index cannot be reached"),
    (
        "  × No solution found: Because there is no version of torch==9.9.9",
        "no wheel of it fits this machine",
    ),
    ("cause: error sending request for url\n  cause: operation timed out", "the index does not"),
    ("THESE PACKAGES DO NOT MATCH THE HASHES", "what the index sent is not the whole wheel"),
    ("Wheel version does not match filename (2 != 3)", "the index sent a wheel of something else"),
    ("", "the installer gave no reason"),
]


@pytest.mark.parametrize(("output", "words"), SAID)
def test_why_an_installation_failed_is_told_in_a_line(output: str, words: str) -> None:
    assert find_reason(output).startswith(words) and "\n" not in find_reason(output)
