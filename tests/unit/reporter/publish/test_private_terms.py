"""Sizes of private tensors that a repro keeps are listed, however its text writes them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from reporter.publish.private_terms import find_left_over
from reporter.publish.result import BuiltRepro
from reporter.report.captured_call import CapturedCall
from tests.support.places import DATA

FOOBAR = CapturedCall.load(DATA / "recordings" / "foobar.json")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x = torch.randn(2, 648)", [648]),
        ("x = torch.arange(648.0).reshape(2, 324)", [648]),
        ("x = torch.arange(640.0)", []),
        ("x = torch.ones(2, 2)", []),
    ],
)
def test_a_size_of_the_program_is_listed(text: str, left: list[int]) -> None:
    graph: Any = {"inputs": [{"shape": [2, 648]}]}
    material = replace(FOOBAR.material, captures=((graph, {"replay": False}),))
    built = cast(
        BuiltRepro,
        SimpleNamespace(program=SimpleNamespace(text=text), search=SimpleNamespace(others=())),
    )
    assert find_left_over(replace(FOOBAR, material=material), built) == left
