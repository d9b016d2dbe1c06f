"""What a trace takes in, and what it must leave as it is: the program runs as without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from collectors.trace import trace
from tests.support.round_trips import call_of, in_a_fork, rewriting

Program = Callable[[torch.Tensor], torch.Tensor]
OUT_OF_SIGHT: dict[str, Program] = {
    "mT": torch.func.vmap(lambda rows: rows.mT.sum(0)),
    "real": torch.func.vmap(lambda rows: rows.real + 1),
    "T": torch.func.grad(lambda x: (x[0].T ** 2).sum()),
}


def traced(function: Any, *args: Any) -> Any:
    """The trace of a call."""
    request: Any = {"way": {"look_inside": True, "empty_caches": False}}
    return in_a_fork(lambda: trace.trace(call_of((function, args)), request)["trace"])


@pytest.mark.parametrize("name", OUT_OF_SIGHT)
def test_a_view_that_cannot_be_followed_is_a_reason_and_no_exception(name: str) -> None:
    found = traced(lambda x: OUT_OF_SIGHT[name](x), torch.ones(2, 3, 4))
    assert "a tensor computed where torch functions are not seen" in found["reasons"]


def _sparse() -> tuple[Any, ...]:
    one, other = torch.eye(3).to_sparse(), (2 * torch.eye(3)).to_sparse()
    return lambda x, y: x.to_dense() - y.to_dense(), (one, other)


def _reinterpreted() -> tuple[Any, ...]:
    x = torch.arange(8.0)

    def change(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y.bitwise_and_(0x7FF00000)
        return x[::2] + y

    return change, (x, x.view(torch.int32)[::2])


@pytest.mark.parametrize("make", [_sparse, _reinterpreted])
def test_arguments_that_share_memory_do_so_in_the_rewritten_call(make: Any) -> None:
    assert rewriting(make).same


class Refusing(torch.autograd.Function):  # type: ignore[misc]
    """Refuses what is negative."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        if x.sum() < 0:
            raise ValueError
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


def test_what_follows_a_forward_that_raises_is_in_the_trace() -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        try:
            y = Refusing.apply(x)
        except ValueError:
            y = x.cos()
        return y.sin() + 1

    found = rewriting(lambda: (call, (-torch.ones(3, requires_grad=True),)))
    assert found.equivalence["outputs"]["how"] == "bitwise"
    assert "x.cos().sin() + 1" in found.text
