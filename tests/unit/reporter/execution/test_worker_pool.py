"""What a pool does before, and without, a worker that can run anything."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.execution.worker_pool import WorkerPool
from tests.support.waiting import PATIENCE


def test_an_interpreter_that_is_not_there_is_told(tmp_path: Path) -> None:
    told = pytest.raises(CannotJudgeError, match="cannot run candidates")
    with WorkerPool(tmp_path / "nopython", 1, {}, tmp_path / "a") as broken, told:
        broken.submit("pass").result(PATIENCE)


def test_an_interpreter_that_cannot_run_candidates_is_told_in_its_own_words(tmp_path: Path) -> None:
    fake = tmp_path / "fakepython"
    fake.write_text("#!/bin/sh\necho 'no torch here' >&2\nexit 1\n")
    fake.chmod(0o755)
    told = pytest.raises(CannotJudgeError, match="no torch here")
    with WorkerPool(fake, 1, dict(os.environ), tmp_path / "b") as broken, told:
        broken.submit("pass").result(PATIENCE)


def test_the_time_limit_follows_the_first_run(tmp_path: Path) -> None:
    with WorkerPool(Path(sys.executable), 1, {}, tmp_path) as unused:
        assert unused.time_limit == 300
        unused.first_seconds = 0.5
        assert unused.time_limit == 20
        unused.first_seconds = 30
        assert unused.time_limit == 95
