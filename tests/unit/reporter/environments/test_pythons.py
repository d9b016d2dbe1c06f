"""Which Python an environment is made with."""

from __future__ import annotations

import sys

import pytest

from reporter.environments import pythons
from reporter.environments.install import find_uv
from tests.support.wheels import no_shims


def test_this_interpreter_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    no_shims(monkeypatch)
    here = pythons.find_pythons(None)
    assert (sys.version_info[0], sys.version_info[1]) in here
    assert pythons.choose([(3, 99)], None) is None
    assert pythons.choose([(3, 99)], find_uv()) == "3.99"  # for uv to fetch
