"""Which Python an environment is made with."""

from __future__ import annotations

import sys
from pathlib import Path

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


def test_uv_is_given_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "ghp_of_the_user")
    uv, seen = tmp_path / "uv", tmp_path / "seen"
    uv.write_text(f"#!/bin/sh\nenv > {seen}\n")
    uv.chmod(0o755)
    pythons.find_pythons(uv)
    assert "PATH=" in seen.read_text() and "ghp_of_the_user" not in seen.read_text()
