"""Operators of an eager program against float64: what is wrong, what is rounding, what magnifies
it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from collectors.call.operators.measurement import OperatorMeasurement

Program = Callable[[], Any]


def hilbert(size: int) -> torch.Tensor:
    """A matrix that is known for what it does to rounding."""
    steps = torch.arange(1.0, size + 1, dtype=torch.float64)
    return (1 / (steps[:, None] + steps - 1)).float()


def strided() -> torch.Tensor:
    return torch.arange(12.0)[2:].as_strided((2, 2), (4, 1))


def counted_in_bfloat16() -> torch.Tensor:
    values = torch.tensor([0, 1], dtype=torch.bfloat16).repeat(256)
    start = torch.zeros(1, dtype=torch.bfloat16)
    return start.index_reduce(0, torch.zeros(512, dtype=torch.int32), values, "mean")


RIGHT: dict[str, Program] = {
    "a product": lambda: torch.randn(64, 64).bfloat16() @ torch.randn(64, 64).bfloat16(),
    "sums that cancel": lambda: torch.randn(1000).half().sum(),
    "written in place": lambda: torch.ones(8).mul_(3).add_(torch.randn(8)),
    "a view of a storage": strided,
    "random numbers": lambda: torch.nn.functional.dropout(torch.randn(64), 0.5),
    "unwritten memory": lambda: torch.empty_like(torch.randn(64)),
    "below the smallest number": lambda: (
        torch.full((4,), 1e-4).half() * torch.full((4,), 1e-4).half()
    ),
    "above the largest number": lambda: torch.full((4,), 6e4).half() * 2,
    "not a number": lambda: torch.tensor([-1.0, 2.0]).sqrt(),
    "infinities": lambda: [
        function(torch.full((40,), sign * float("inf")))
        for sign in (1, -1)
        for function in (torch.exp, torch.tanh, torch.erf, torch.log1p, torch.lgamma, torch.abs)
    ],
    "infinities that cancel": lambda: torch.full((2,), float("inf")) - float("inf"),
    "eigenvectors": lambda: torch.linalg.eigh(torch.randn(4, 4)),
    "products of complex numbers": lambda: (
        (torch.full((2,), 1e30 + 1e30j) * (1e30 + 1e30j)).square()
    ),
    "a training step": lambda: torch.nn.Linear(8, 4)(torch.randn(2, 8)).sum().backward(),
}  # fmt: skip


def checked(program: Program, tmp_path: Path) -> OperatorMeasurement:
    torch.manual_seed(0)
    measurement = OperatorMeasurement(str(tmp_path / "facts.json"), lambda: 5)
    with measurement:
        program()
    return measurement


@pytest.mark.parametrize("name", RIGHT)
def test_what_an_operator_may_do_is_not_wrong(name: str, tmp_path: Path) -> None:
    facts = checked(RIGHT[name], tmp_path).collect_facts()
    assert facts["wrong"] == [] and facts["ill"] == []


def test_a_result_that_is_too_large_for_its_dtype_is_counted(tmp_path: Path) -> None:
    assert checked(RIGHT["above the largest number"], tmp_path).collect_facts()["overflowed"] == 1
    for name in ("a product", "not a number"):
        assert checked(RIGHT[name], tmp_path).collect_facts()["overflowed"] == 0


def test_a_wrong_operator_is_told_with_its_error_and_the_call_that_it_belongs_to(
    tmp_path: Path,
) -> None:
    (found,) = checked(counted_in_bfloat16, tmp_path).collect_facts()["wrong"]
    assert found["operator"] == "aten.index_reduce.default" and found["function"] == 5
    assert found["error"] > 0.4 and found["sensitivity"] < 0.01
    saved = json.loads((tmp_path / "facts.json").read_text())
    assert saved["wrong"] == [found]


def test_no_number_where_a_function_of_one_number_has_a_limit_is_wrong(tmp_path: Path) -> None:
    # GELU of several infinities is NaN from 2.6.0 on, of one of them it is infinite
    facts = checked(
        lambda: torch.nn.functional.gelu(torch.full((40,), float("inf"))), tmp_path
    ).collect_facts()
    assert [(item["operator"], item["error"]) for item in facts["wrong"]] == [
        ("aten.gelu.default", float("inf"))
    ]


@pytest.fixture
def overflowing_exponential() -> Iterator[Callable[[torch.Tensor], torch.Tensor]]:
    """An operator that is the exponential, but for the imaginary part where the real one overflows,
    as torch had it before 2.8.
    """
    name = "bugreport_tests::overflowing_exponential"

    def compute(x: torch.Tensor) -> torch.Tensor:
        exact = x.exp()
        lost = torch.full_like(exact, complex(float("inf"), float("nan")))
        return torch.where(exact.isinf(), lost, exact) if x.dtype == torch.complex64 else exact

    with torch.library._scoped_library("bugreport_tests", "FRAGMENT") as library:
        library.define("overflowing_exponential(Tensor x) -> Tensor")
        library.impl("overflowing_exponential", compute, "CompositeExplicitAutograd")
        yield getattr(torch.ops, name.partition("::")[0]).overflowing_exponential


def test_each_part_of_a_complex_number_counts_where_the_other_one_overflows(
    overflowing_exponential: Callable[[torch.Tensor], torch.Tensor], tmp_path: Path
) -> None:
    facts = checked(
        lambda: overflowing_exponential(torch.tensor(501.0 + 0j)), tmp_path
    ).collect_facts()
    assert [item["error"] for item in facts["wrong"]] == [float("inf")]


def test_an_operator_that_magnifies_rounding_is_ill_conditioned(tmp_path: Path) -> None:
    facts = checked(
        lambda: torch.linalg.solve(hilbert(10), torch.ones(10)), tmp_path
    ).collect_facts()
    assert facts["wrong"] == []
    assert facts["ill"][0]["operator"] == "aten._linalg_solve_ex.default"


def test_the_check_draws_nothing_from_the_generator_of_the_program(tmp_path: Path) -> None:
    def program() -> list[float]:
        drawn = torch.nn.functional.dropout(torch.ones(8), 0.5)
        return [*drawn.tolist(), torch.rand(1).item()]

    seen = []
    checked(lambda: seen.append(program()), tmp_path)
    torch.manual_seed(0)
    assert seen == [program()]
