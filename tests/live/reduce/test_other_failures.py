"""Other failures are told only where fresh processes show them, and only with the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from reporter.core.candidate import find_failure
from reporter.core.kinds import Kind
from reporter.core.signature import Signature
from reporter.execution.fresh_process import run_cold
from reporter.execution.fresh_runs import FreshRuns
from reporter.reduce.other_failures import OtherFailures
from tests.support import interpreter

WITH_THE_COMPILER = """\
import os
if os.environ.get("TORCHDYNAMO_DISABLE") != "1":
    raise KeyError("no")
"""


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (WITH_THE_COMPILER, True),
        ('raise KeyError("no")', False),
        (f"weight = 0.34268999099731445\n{WITH_THE_COMPILER}", False),
        (f"weight = 0.5\n{WITH_THE_COMPILER}", True),
        (f"seed = 4711\n{WITH_THE_COMPILER}", True),
    ],
)
def test_what_fails_without_the_compiler_or_holds_a_private_number_is_not_told(
    text: str, is_told: bool, tmp_path: Path
) -> None:
    python = interpreter.WARM
    found = find_failure(run_cold(python, text, 60, describe=True, warm_cache=tmp_path))
    assert found is not None
    others = OtherFailures(Signature(Kind.WRONG_RESULT), seeds=(4711,))
    others.keep(found, text)
    assert bool(others.confirm(FreshRuns(python, tmp_path), 60)) == is_told
