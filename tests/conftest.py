"""What all tests share: no settings of the developer's own, and interpreters with other packages than this one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RELEASES = {"v20": "2.0.1", "v26": "2.6.0", "v213": "2.13.0", "v215": "2.15.0"}


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A test sees defaults unless it sets something itself, and writes no log and no store into the real home."""
    for name in list(os.environ):
        if name.startswith("BUGREPORT_") and not name.startswith("BUGREPORT_TEST_"):
            monkeypatch.delenv(name)
    # Torch's own tools take up to a minute per report; what tests them asks for them.
    monkeypatch.setenv("BUGREPORT_EVIDENCE", "0")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "no-such-home" / name))


def python_in(environment: str) -> Path:
    """Where an interpreter is looked for.

    The environments are sub-folders of BUGREPORT_TEST_ENVS, by default ~/.cache/bugreport-eval.
    """
    home = Path(os.environ.get("BUGREPORT_TEST_ENVS") or "~/.cache/bugreport-eval").expanduser()
    return home / environment / "bin" / "python"


@pytest.fixture
def release_python() -> Callable[[str], Path]:
    """The interpreter of an environment such as "v26"; skips the test where there is none."""

    def python_of(name: str) -> Path:
        python = python_in(name)
        if not python.exists():
            pytest.skip(
                f"no interpreter with torch {RELEASES[name]} at {python}; set BUGREPORT_TEST_ENVS"
            )
        return python

    return python_of


@pytest.fixture(scope="session")
def models_python() -> Path:
    """An interpreter with torch 2.13.0 and transformers; skips the test where there is none."""
    python = python_in("models")
    if not python.exists():
        pytest.skip(f"no interpreter with transformers at {python}; set BUGREPORT_TEST_ENVS")
    found = subprocess.run(
        [python, "-c", "import transformers, torch; print(torch.__version__)"],
        capture_output=True,
        text=True,
    )
    if not found.stdout.startswith(RELEASES["v213"]):
        pytest.skip(f"{python} does not have transformers and torch {RELEASES['v213']}")
    return python
