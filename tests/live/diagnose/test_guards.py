"""The missing guard of a stale graph, named and confirmed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reporter.diagnose.details.guards import describe, find
from reporter.recording.findings import Recording
from reporter.report.sections.details import GuardSection
from tests.support.recorded import record

Find = Callable[[str], "GuardSection | None"]


@pytest.fixture
def missing(tmp_path: Path) -> Iterator[Find]:
    """What is found about the first finding of a program."""
    made: list[Recording] = []

    def run(name: str) -> GuardSection | None:
        made.append(record(f"guards/{name}", tmp_path))
        assert made[-1].findings, made[-1].script.output
        return find(made[-1].findings[0], 120)

    yield run
    for recording in made:
        recording.close()


def test_a_size_that_no_guard_checks(missing: Find) -> None:
    found = missing("size")
    assert found is not None
    assert {(change.name, change.compiled, change.now) for change in found.changed} == {
        ("argument 0, dimension 0", 4, 6),
        ("argument 0, dimension 1", 5, 7),
        ("argument 1, dimension 0", 4, 6),
    }
    assert found.missing == "argument 0, dimension 1 == 5"
    assert found.confirmed is True
    symbol = next(
        name for name, where in found.symbols.items() if where == "argument 0, dimension 1"
    )
    assert symbol in found.used
    assert any("argument 0.size()[1]" in guard for guard in found.checked)
    assert "secret" not in str(found) + describe(found)
    assert "a guard is missing: argument 0, dimension 1 == 5" in describe(found)


def test_a_number_that_no_guard_checks(missing: Find) -> None:
    found = missing("number")
    assert found is not None
    assert (found.missing, found.confirmed) == ("argument 1 == 3", True)


def test_a_graph_reused_after_automatic_dynamic_shapes(missing: Find) -> None:
    found = missing("automatic_dynamic")
    assert found is not None
    (change,) = found.changed
    assert (change.compiled, change.now) == (5, 7)  # 4 was compiled as a constant
    assert (found.missing, found.confirmed) == ("argument 0, dimension 1 == 5", True)


def test_a_wrong_graph_of_its_own_lacks_no_guard(missing: Find) -> None:
    assert missing("wrong_alone") is None


def test_a_change_that_a_compile_would_not_mend_is_no_missing_guard(missing: Find) -> None:
    # the number that was drawn while the call was traced is a constant of the graph
    assert missing("drawn_number") is None
