"""Interpreters with real releases are known for what they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.execution import interpreter
from tests.conftest import RELEASES


@pytest.mark.parametrize("name", ["v20", "v26", "v213", "v215"])
def test_a_real_release_is_known_by_its_version_and_its_commit(
    name: str, release_python: Callable[[str], Path]
) -> None:
    info = interpreter.probe(release_python(name))
    assert info.torch.partition("+")[0] == RELEASES[name]
    assert info.torch_git
