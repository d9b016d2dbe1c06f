"""The divergence profile needs the same of every release: the faulty operation is found in the
middle of a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.diagnose.details.divergence import DivergenceBudget, PrefixSettings, find_divergence
from tests.support.recorded import record


@pytest.mark.parametrize("release", ["v20", "v26", "v213", "v215"])
def test_the_faulty_operation_is_found_on_every_release(
    release: str, tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
    recording = record("divergence/long", tmp_path, release_python(release))
    try:
        assert recording.findings, recording.script.output
        found = find_divergence(
            recording.findings[0],
            PrefixSettings(),
            DivergenceBudget(1200, 120, jobs=2),
            lambda _: None,
        )
    finally:
        recording.close()
    assert found is not None and found.complete and found.operator == "torch.sigmoid"
    assert found.points[-1].position < found.of
