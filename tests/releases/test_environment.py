"""What is said about the machine by other releases of torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.environments import check_settings, check_superset

RELEASES = ["v20", "v26", "v215"]


@pytest.mark.parametrize("release", RELEASES)
def test_it_is_a_superset_of_collect_env_on_other_releases(
    release: str, release_python: Callable[[str], Path]
) -> None:
    check_superset(release_python(release))


@pytest.mark.parametrize("release", RELEASES)
def test_changed_settings_are_told_on_other_releases(
    release: str, release_python: Callable[[str], Path]
) -> None:
    check_settings(release_python(release))
