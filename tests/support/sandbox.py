"""What the tests of the sandbox need of the machine, and triage in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.sandbox import bubblewrap
from tests.support.created import bugreport


def needs_bubblewrap() -> None:
    """Skips the test where there is no bubblewrap, or where it may not work."""
    try:
        bubblewrap.find_bwrap()
    except CannotJudgeError as error:
        pytest.skip(str(error))


def triage(path: Path, folder: Path, *more: str | Path) -> tuple[int, dict[str, Any]]:
    """Exit code and document of `bugreport triage`, which prints nothing else."""
    done = bugreport("triage", "--json", "--no-input", *more, path, cwd=folder, timeout=1800)
    return done.returncode, json.loads(done.stdout)
