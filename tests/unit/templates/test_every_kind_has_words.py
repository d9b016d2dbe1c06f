"""The templates have the kinds and layers of a report as texts: each has its words, and none is one
that no verdict has.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from reporter.core.kinds import BUGS, Compiler, Kind, Layer
from templates import wording


@pytest.mark.parametrize("table", [wording.TITLES, wording.WHAT, wording.SUMMARIES])
def test_every_bug_has_words(table: Mapping[str, str]) -> None:
    assert BUGS <= set(table) <= set(Kind)


@pytest.mark.parametrize(
    "table",
    [
        wording.EAGER_TITLES,
        wording.EAGER_WHAT,
        wording.EAGER_SUMMARIES,
        wording.EXPORT_SUMMARIES,
    ],
)
def test_other_words_are_for_kinds_that_there_are(table: Mapping[str, str]) -> None:
    assert table and set(table) <= set(Kind)


def test_every_layer_and_every_compiler_has_its_name() -> None:
    assert set(wording.LAYER_NAMES) == set(Layer) - {Layer.NONE}
    assert set(wording.COMPILERS) == set(Compiler)
