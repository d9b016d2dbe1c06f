"""What the search for a culprit found, in words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as replace_section

from reporter.core.kinds import Layer
from reporter.diagnose.details.suspect import describe
from reporter.report.sections.details import CulpritSection, TriedSection

FOUND = CulpritSection(layer=Layer.INDUCTOR, stable=True)
GOES = "It goes away with epilogue_fusion=False"


@pytest.mark.parametrize(
    ("confirmed", "said"),
    [
        (True, f"{GOES}."),
        (None, f"{GOES}."),
        (False, f"{GOES}, but not in the backend of the call itself."),
    ],
)
def test_a_workaround_is_told_for_where_it_helps(confirmed: bool | None, said: str) -> None:
    workaround = ("epilogue_fusion=False",)
    assert describe(replace_section(FOUND, workaround=workaround, confirmed=confirmed)) == said


@pytest.mark.parametrize(
    ("gone", "said"),
    [((None, None), ""), ((False, None), "None of 1 settings makes it go away."), ((), "")],
)
def test_settings_that_could_not_be_judged_are_not_counted(
    gone: tuple[bool | None, ...], said: str
) -> None:
    switches = tuple(TriedSection(name="s", setting="s=1", meaning="", gone=each) for each in gone)
    assert describe(replace_section(FOUND, switches=switches)) == said
