"""A preloaded process that was closed stays closed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reporter.execution.fresh_runs import FreshRuns
from reporter.execution.preloaded_process import PreloadedProcess


def test_no_late_question_starts_one_that_nobody_ends(tmp_path: Path) -> None:
    preloaded = PreloadedProcess(Path(sys.executable), tmp_path)
    preloaded.close()
    fresh = FreshRuns(Path(sys.executable), tmp_path, preloaded)
    with pytest.raises(RuntimeError, match="closed"):
        fresh.run_fresh("pass", 10)
