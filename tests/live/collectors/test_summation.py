"""Sums one addition after another, beside torch's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from collectors.call.variations.summation import SequentialSumsMode

#: Whose mean loses digits where it is added up in turn.
CONSTANT = torch.full((3001, 4), 1013.27)
RANDOM = torch.rand(60, 5, generator=torch.Generator().manual_seed(0))

REDUCTIONS: dict[str, Callable[[torch.Tensor], object]] = {
    "sum of all": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(0),
    "sum with dtype": lambda x: x.half().sum(1, dtype=torch.float64),
    "mean": lambda x: x.mean((0, 1), keepdim=True),
    "variance": lambda x: x.var(-1),
    "deviation of the whole": lambda x: x.std(0, correction=0, keepdim=True),
    "both": lambda x: torch.var_mean(x, 1),
    "half": lambda x: x.bfloat16().mean(0),
}


def leaves(result: object) -> list[torch.Tensor]:
    return list(result) if isinstance(result, tuple) else [result]  # type: ignore[list-item]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_sum_in_turn_is_the_same_sum(name: str) -> None:
    reduction = REDUCTIONS[name]
    with SequentialSumsMode():
        made = leaves(reduction(RANDOM))
    for ours, own in zip(made, leaves(reduction(RANDOM))):
        torch.testing.assert_close(ours, own)


def test_the_order_of_additions_shows_in_a_long_sum() -> None:
    exact = CONSTANT.double().mean(0)
    with SequentialSumsMode():
        made = CONSTANT.mean(0)
    off, own = ((each - exact).abs().max().item() for each in (made, CONSTANT.mean(0)))
    assert off > 10 * own and off < 0.1


def test_a_constant_has_no_deviation() -> None:
    with SequentialSumsMode():
        assert CONSTANT.var(0).tolist() == [0.0] * 4


@pytest.mark.parametrize("rows", [100, 4097, 9000])
def test_variances_of_long_columns_are_put_together_from_lanes(rows: int) -> None:
    values = torch.arange(3.0 * rows, dtype=torch.float64).reshape(rows, 3)
    with SequentialSumsMode():
        made = torch.var_mean(values, 0)
    torch.testing.assert_close(made, torch.var_mean(values, 0))


@pytest.mark.parametrize("rows", [4095, 4096, 4097, 9000])
def test_no_element_of_a_long_sum_is_left_out(rows: int) -> None:
    with SequentialSumsMode():
        assert torch.arange(float(rows)).double().sum().item() == rows * (rows - 1) / 2


def test_whole_numbers_and_scalars_are_left_alone() -> None:
    with SequentialSumsMode():
        assert torch.arange(5).sum().item() == 10
        assert torch.tensor(2.5).sum().item() == 2.5 and torch.ones(0).sum().item() == 0


def test_gradients_flow_through_a_sum_in_turn() -> None:
    x = torch.ones(3, requires_grad=True)
    with SequentialSumsMode():
        (x * 2).mean().backward()
    torch.testing.assert_close(x.grad, torch.full((3,), 2 / 3))
