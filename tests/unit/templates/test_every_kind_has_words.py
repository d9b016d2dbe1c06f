"""The templates have the kinds and layers of a report as texts: each has its words, and none is one
that no verdict has.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from reporter.core.kinds import BUGS, Compiler, Kind, Layer
from templates import description, facts, summaries, title


@pytest.mark.parametrize("table", [title.TITLES, description.WHAT, summaries.SUMMARIES])
def test_every_bug_has_words(table: Mapping[str, str]) -> None:
    assert BUGS <= set(table) <= set(Kind)


@pytest.mark.parametrize(
    "table",
    [
        title.EAGER_TITLES,
        description.EAGER_WHAT,
        summaries.EAGER_SUMMARIES,
        summaries.EXPORT_SUMMARIES,
    ],
)
def test_other_words_are_for_kinds_that_there_are(table: Mapping[str, str]) -> None:
    assert table and set(table) <= set(Kind)


def test_every_layer_and_every_compiler_has_its_name() -> None:
    assert set(facts.LAYER_NAMES) == set(Layer) - {Layer.NONE}
    assert set(facts.COMPILERS) == set(Compiler)
