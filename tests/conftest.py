"""What all tests share: no settings of the developer's own, and interpreters with other torch releases."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

RELEASES = {"v20": "2.0.1", "v26": "2.6.0", "v213": "2.13.0", "v215": "2.15.0"}


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A test sees defaults unless it sets something itself, and writes no log into the real home."""
    for name in list(os.environ):
        if name.startswith("BUGREPORT_") and name != "BUGREPORT_TEST_ENVS":
            monkeypatch.delenv(name)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "no-such-home" / name))


@pytest.fixture
def release_python() -> Callable[[str], Path]:
    """The interpreter of an environment such as "v26"; skips the test where there is none.

    The environments are sub-folders of BUGREPORT_TEST_ENVS, by default ~/.cache/bugreport-eval.
    """

    def python_of(name: str) -> Path:
        home = Path(os.environ.get("BUGREPORT_TEST_ENVS") or "~/.cache/bugreport-eval").expanduser()
        python = home / name / "bin" / "python"
        if not python.exists():
            pytest.skip(
                f"no interpreter with torch {RELEASES[name]} at {python}; set BUGREPORT_TEST_ENVS"
            )
        return python

    return python_of
