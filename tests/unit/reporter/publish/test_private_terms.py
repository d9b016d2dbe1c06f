"""Sizes of private tensors that a repro keeps are listed, however its text writes them; its
seeds are the user's choice.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from anonymizer.graph.repro import ReproAssertion
from reporter.core.kinds import Kind
from reporter.core.settings import IssueOptions
from reporter.publish.private_terms import collect_terms, find_left_over
from reporter.publish.result import BuiltRepro
from reporter.report.captured_call import CapturedCall
from tests.support.places import DATA

FOOBAR = CapturedCall.load(DATA / "recordings" / "foobar.json")


def built_of(text: str) -> BuiltRepro:
    search = SimpleNamespace(others=(), numbers_left=())
    return cast(BuiltRepro, SimpleNamespace(program=SimpleNamespace(text=text), search=search))


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
    material = structs.replace(FOOBAR.material, captures=((graph, {"replay": False}),))
    assert find_left_over(replace(FOOBAR, material=material), built_of(text)) == left


@pytest.mark.parametrize("seed", [20_260_419, 0])
def test_a_seed_is_no_private_number_where_the_user_asks_for_it(seed: int, tmp_path: Path) -> None:
    assertion = ReproAssertion(Kind.CRASH, seed=seed)
    sources = {"train.py": "torch.manual_seed(20260419)\nsteps = 20260423"}
    captured = replace(
        FOOBAR, material=structs.replace(FOOBAR.material, assertion=assertion, sources=sources)
    )
    terms = collect_terms(IssueOptions(), captured, built_of("x = 1"), tmp_path)
    assert (20_260_419 in terms.everywhere.numbers) == (seed == 0)
    assert 20_260_423 in terms.everywhere.numbers
