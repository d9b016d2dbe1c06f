"""The warm worker on other releases of torch."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.execution.worker_pool import WorkerPool
from tests.support.scripts import text
from tests.support.waiting import PATIENCE


@pytest.mark.parametrize("release", ["v20", "v26", "v213", "v215"])
def test_forks_compile_and_differentiate_in_every_release(
    release: str, release_python: Callable[[str], Path], tmp_path: Path
) -> None:
    with WorkerPool(release_python(release), 1, dict(os.environ), tmp_path) as pool:
        answer = pool.submit(text("pool/forward_and_backward")).result(PATIENCE)
        assert (answer.outcome, answer.stdout) == ("passes", "3.0\n"), answer
        assert pool.submit("raise OSError(5)").result(PATIENCE).outcome == "fails"
