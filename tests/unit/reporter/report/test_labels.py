"""Labels: what the measurements support, by the rubric of the receiving project."""

from __future__ import annotations

import pytest

from reporter.report.labels import LabelGrounds, choose_labels


@pytest.mark.parametrize(
    ("arguments", "flags", "expected"),
    [
        (("crash", "inductor", True), {}, ["module: inductor"]),
        (
            ("crash", "inductor", True),
            {"cpu_only": True},
            ["module: inductor", "oncall: cpu inductor"],
        ),
        (("crash", "dynamo", True), {}, ["module: dynamo"]),
        (("crash", "aot_autograd", True), {}, ["module: pt2-dispatcher"]),
        (("crash", "inductor", True), {"dynamic_false_fixes": True}, ["module: dynamic shapes"]),
        (("process_death", "inductor", True), {}, ["module: inductor", "module: crash"]),
        (
            ("wrong_result", "inductor", True),
            {},
            ["module: inductor", "module: correctness (silent)"],
        ),
        (
            ("crash", "dynamo", True),
            {"earlier_release_right": True},
            ["module: dynamo", "module: regression"],
        ),
        (("crash", "backend", True), {}, []),
        (("rounding", "inductor", False), {"earlier_release_right": True}, []),
    ],
)
def test_labels_are_those_that_the_evidence_supports(
    arguments: tuple[str, str, bool], flags: dict[str, bool], expected: list[str]
) -> None:
    assert choose_labels(*arguments, LabelGrounds(**flags)) == expected  # type: ignore[arg-type]
