"""Machines that share a check without speaking to each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reporter.check.check import belongs
from reporter.check.results import CheckSummary, OutcomeChange
from reporter.check.shards import merge
from reporter.core.errors import UsageError
from reporter.core.kinds import CheckOutcome, Kind
from reporter.core.signature import Signature
from reporter.report.sections.base import build_section
from reporter.report.sections.verdict import FailureSection
from tests.support.checking import checked


def test_shards_share_the_work_and_their_files_are_put_together(tmp_path: Path) -> None:
    cells = [(f"key{n}", release) for n in range(40) for release in ("2.6.0", "2.13.0")]
    parts = [[cell for cell in cells if belongs(cell, (i, 3))] for i in (1, 2, 3)]
    assert sorted(cell for part in parts for cell in part) == sorted(cells) and all(parts)
    files = []
    old, new = (checked("b", "2.6.0", o, t) for o, t in (("fixed", "2026"), ("reproduces", "2027")))
    for number, checks in enumerate(
        [
            [checked("a", "2.6.0", "fixed"), old],
            [checked("a", "2.6.0", "cannot_judge", "2028"), new, checked("a", "2.13.0", "fixed")],
        ]
    ):
        files.append(tmp_path / f"{number}.json")
        changes = (OutcomeChange("reproduces", checks[0]),) if number == 0 else ()
        files[-1].write_text(json.dumps(CheckSummary(tuple(checks), changes).to_json()))
    for order in (files, files[::-1], [*files, *files]):
        found = merge(order)
        told = {(c.repro, c.release): c.outcome for c in found.results}
        assert len(found.results) == 3 and [c.check.repro for c in found.changes] == ["a"]
        assert told == {
            ("a", "2.6.0"): "fixed",
            ("b", "2.6.0"): "reproduces",
            ("a", "2.13.0"): "fixed",
        }


def test_a_wrong_value_that_is_infinitely_far_off_is_read_again(tmp_path: Path) -> None:
    """JSON has no number for it."""
    failure = Signature(Kind.WRONG_RESULT, error_ratio=float("inf"))
    shown = build_section(FailureSection, failure)
    results = (checked("a", "2.6.0", "reproduces", signature=shown),)
    (tmp_path / "0.json").write_text(json.dumps(CheckSummary(results).to_json()))
    found = merge([tmp_path / "0.json"]).results
    assert found == results
    assert found[0].signature is not None and found[0].signature.to_signature() == failure


def test_a_change_is_that_of_its_repro_and_not_of_one_with_its_name(tmp_path: Path) -> None:
    results = tuple(checked("same", "2.6.0", "fixed", key=key) for key in ("k1", "k2"))
    changes = (OutcomeChange(CheckOutcome.REPRODUCES, results[0]),)
    document = CheckSummary(results, changes).to_json()
    path = tmp_path / "0.json"
    path.write_text(json.dumps(document))
    assert [change.check.key for change in merge([path]).changes] == ["k1"]
    document["changes"][0]["before"] = "vanished"
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="is no result file"):
        merge([path])
