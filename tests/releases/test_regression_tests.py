"""`test_repro.py` fails where the repro fails and passes where it passes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.core.candidate import find_failure, make_matcher
from reporter.core.formatting import format_program
from reporter.execution.fresh_process import run_cold
from templates.regression import render_tests, write_failing_program
from tests.support.mended import MENDED, failure, repro


@pytest.mark.parametrize("kind", MENDED)
def test_it_fails_on_the_broken_and_passes_on_the_mended_release(
    kind: str, release_python: Callable[[str], Path]
) -> None:
    shown = failure(kind, "inductor", MENDED[kind][0])
    wanted = find_failure(run_cold(release_python("v26"), repro(kind), 300, describe=True))
    assert wanted is not None
    for rendered in render_tests(shown, repro(kind)):
        test = format_program(rendered)
        probe = write_failing_program(test, shown)
        assert make_matcher(wanted)(
            run_cold(release_python("v26"), probe, 300, describe=True)
        ), test
        right = run_cold(release_python("v213"), test, 300)
        assert right.exit == 0 and "OK" in right.stderr and "skipped" not in right.stderr
