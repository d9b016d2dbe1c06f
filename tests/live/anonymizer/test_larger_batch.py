"""The proof with one more row in the batch, and sizes that come out of a cache."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch import nn

from tests.support.round_trips import rewriting


@functools.lru_cache
def two_halves(shape: tuple[int, ...]) -> tuple[int, int, int]:
    return shape[0], 2, shape[1] // 2


class Halves(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(two_halves(tuple(x.shape))).amax(1)


class OnePerRow(nn.Module):
    """Accepts the rows that it was made for alone."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.offset = nn.Parameter(torch.arange(float(rows)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(1) + self.offset


class Masked(nn.Module):
    def forward(self, batch: dict[str, Any]) -> torch.Tensor:
        return (batch["x"] * batch["mask"][:, None]).relu().mean(1)


def halves() -> tuple[Any, ...]:
    two_halves((2, 6))  # an earlier call, of plain sizes
    return Halves(), (torch.randn(2, 6),)


def test_a_size_out_of_a_cache_is_a_number_that_another_batch_shows() -> None:
    found = rewriting(halves)
    assert found.same and ".reshape((2, 2, 3))" in found.text
    assert found.equivalence["batch"] == {"size": 3, "how": "raises"}


def test_with_empty_caches_it_is_read_from_its_tensor() -> None:
    found = rewriting(halves, empty_caches=True)
    assert found.same and "x.size(0)" in found.text
    assert found.equivalence["batch"] == {"size": 3, "how": "bitwise"}


def test_nothing_is_said_of_rows_that_the_call_refuses() -> None:
    found = rewriting(lambda: (OnePerRow(2), (torch.randn(2, 6),)))
    assert found.same and "batch" not in found.equivalence


@pytest.mark.parametrize("rows", [1, 4])
def test_each_argument_of_as_many_rows_gets_one_more(rows: int) -> None:
    batch = {"x": torch.randn(rows, 6), "mask": torch.ones(rows)}
    found = rewriting(lambda: (Masked(), (batch,)))
    assert found.same
    assert found.equivalence["batch"] == {"size": rows + 1, "how": "bitwise"}
