"""What is said of a workaround that was tried on the recorded call."""

from __future__ import annotations

import pytest

from reporter.core.kinds import Layer
from reporter.diagnose.details.workaround import describe
from reporter.report.sections.details import CulpritSection


@pytest.mark.parametrize(
    ("on_call", "relative", "said"),
    [
        (None, None, ""),
        (False, None, ""),
        (True, None, ", also on the original call"),
        (True, 0.02, "takes less time than in eager mode"),
        (True, 0.5, "takes less time than in eager mode"),
        (True, 1.1, "takes about as long as in eager mode"),
        (True, 3.2, "takes 3 times as long as in eager mode"),
    ],
)
def test_a_workaround_is_told_with_its_cost(
    on_call: bool | None, relative: float | None, said: str
) -> None:
    section = CulpritSection(
        layer=Layer.INDUCTOR, stable=True, on_call=on_call, relative_time=relative
    )
    assert describe(section).endswith(said)
    assert bool(describe(section)) == bool(on_call)
