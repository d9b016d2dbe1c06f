"""Models with operations that nobody can look into: a report where the failure does not need them,
none where it does.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.anonymized import anonymize
from tests.support.created import check_report
from tests.support.scripts import text


@pytest.mark.slow
def test_a_report_has_a_stand_in_for_an_operation_of_the_owner(tmp_path: Path) -> None:
    created = anonymize(text("stand_ins/crash_beside_an_operator"), tmp_path)
    check_report(created, interpreter.WARM, ["zorb", "mix("])
    proof = created.document["equivalence"]
    assert proof["proved"] and proof["stand_ins"] == {"operator1": "a custom operator"}
    assert "def operator1(" in created.repro
    assert "custom operator" in (created.folder / "private" / "side_by_side.html").read_text()


@pytest.mark.slow
def test_no_report_where_the_failure_needs_the_operation_itself(tmp_path: Path) -> None:
    created = anonymize(text("stand_ins/crash_in_an_operator"), tmp_path)
    assert created.code == 125, created.talk
    assert not (created.folder / "issue.md").exists()
