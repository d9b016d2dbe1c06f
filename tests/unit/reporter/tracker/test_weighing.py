"""The ranking of duplicates, measured on real issues: it may become better than these numbers, not
worse.
"""

from __future__ import annotations

import pytest

from reporter.tracker.weighing import LIKELY, weigh
from tests.support.github.weighing import ROWS, measure, pairs, reported, text


def test_the_ranking_of_real_issues() -> None:
    found = measure(list(pairs()))
    assert (found.same, found.others) == (
        38,
        6042,
    ), "other rows: measure anew, and say so in docs/measurements.md"
    assert found.precision >= 0.82 and found.recall >= 0.63, found
    assert found.shown >= 0.89 and found.first >= 0.77, found


def test_no_pair_is_likely_for_its_form_alone() -> None:
    """What every issue has (the form, the traceback through the compiler, `torch.compile`) weighs
    nothing.
    """
    empty = {"issue": 1, "title": "torch.compile fails", "labels": ["oncall: pt2"], "says": ""}
    for row in ROWS:
        for kind in ("crash", "wrong_result", "process_death"):
            body = text({**empty, "kind": kind})
            score, reasons = weigh(reported(row), "torch.compile fails", body, ["oncall: pt2"])
            assert score <= 0.15, (row["issue"], kind, reasons)


@pytest.mark.parametrize(
    ("says", "likely"),
    [
        ("File \"torch/_inductor/lowering.py\", line 12, in pool\n"
         "LoweringException: AssertionError: dilation of 2 dims", True),
        ("LoweringException: AssertionError: dilation of 7 dims\ntorch.fold(x)", True),
        ("LoweringException: NameError: name 'y'\ntorch.fold(x)", False),
        ("Segmentation fault (core dumped)\ntorch.fold(x)", False),
        ("it gives other values\ntorch.fold(x)", False),
    ],
)  # fmt: skip
def test_a_failure_of_another_sort_is_another_bug(says: str, likely: bool) -> None:
    row = {
        "issue": 1, "title": "", "kind": "crash", "layer": "inductor",
        "exception": "LoweringException", "message": "AssertionError: dilation of 2 dims",
        "frames": ["torch/_inductor/lowering.py:pool"], "operators": ["torch.fold"],
    }  # fmt: skip
    score, reasons = weigh(reported(row), "it fails", says, [])
    assert (score >= LIKELY) is likely, (score, reasons)
