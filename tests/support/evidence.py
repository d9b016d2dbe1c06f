"""What torch's tools say of a small program with a graph break and a recompilation."""

from __future__ import annotations

from pathlib import Path

from reporter.evidence.repro_evidence import (
    ReproEvidence,
    ShownFailure,
    WatchedRun,
    collect_evidence,
)
from tests.support.scripts import text
from tests.support.waiting import PATIENCE


def of_breaks(python: Path, backend: str, keep: Path, **more: str) -> ReproEvidence:
    """The evidence of `evidence/breaks` compiled with `backend`; `more` of the verdict's facts than
    its kind.
    """
    program = text("evidence/breaks").replace("BACKEND", backend)
    failure = ShownFailure(**{"kind": "wrong_result", "layer": "aot_autograd", **more})
    return collect_evidence(WatchedRun(python, program, 3 * PATIENCE), failure, keep)
