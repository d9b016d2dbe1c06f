"""A model's own `autograd.Function`s stay functions: generic names, the same forward, and the same
gradients of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd.function import once_differentiable

from tests.support.round_trips import Rewriting, rewriting


class ZorbRound(torch.autograd.Function):
    """Straight through: the gradient of rounding is taken to be one."""

    @staticmethod
    def forward(ctx: Any, x: Any, zorb_levels: int) -> Any:
        return torch.round(x * zorb_levels) / zorb_levels

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0], None


class ZorbReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, strength: float) -> Any:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return -ctx.strength * grads[0], None


class ZorbIdentity(torch.autograd.Function):
    """Returns what it is given, and clips the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grads[0].clamp(-0.1, 0.1) * (x.abs() < 1)


class ZorbSwish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        allowing = torch.sigmoid(x)
        ctx.save_for_backward(x, allowing)
        return x * allowing

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, allowing = ctx.saved_tensors
        if not ctx.needs_input_grad[0]:
            return None
        return grads[0] * (allowing * (1 + x * (1 - allowing)))


class ZorbNorm(torch.autograd.Function):
    """Two outputs, one without a gradient, a saved output, sizes and a plain attribute on ctx."""

    @staticmethod
    def forward(x: Any, weight: Any, eps: float) -> Any:
        mean = x.pow(2).mean(-1, keepdim=True)
        scale = torch.rsqrt(mean + eps)
        return x * scale * weight, scale

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, weight, _ = inputs
        y, scale = output
        ctx.mark_non_differentiable(scale)
        ctx.save_for_backward(x, weight, scale)
        ctx.width = x.shape[-1]
        ctx.kept = y

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, weight, scale = ctx.saved_tensors
        grad = grads[0] * weight
        inner = (grad * x).sum(-1, keepdim=True) / ctx.width
        gw = (grads[0] * x * scale).sum((0, 1)) + 0 * ctx.kept.sum()
        return grad * scale - x * scale.pow(3) * inner, gw, None


class ZorbInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 2


class ZorbCounts(torch.autograd.Function):
    """Reads a buffer from around it and changes it; its output does not depend on it."""

    @staticmethod
    def forward(ctx: Any, x: Any, table: Any) -> Any:
        table.add_(x.detach().mean(0))
        return x * GLOBAL

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] / GLOBAL, None


class ZorbAmp(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grads[0] * x.exp() * 0.5


class ZorbTwice(torch.autograd.Function):
    """The same tensor twice, and a function within the function."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.shape = x.shape
        return ZorbSwish.apply(x) * y

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        wide = grads[0].reshape(-1, ctx.shape[0]).reshape(ctx.shape)
        return wide * 0.25, wide.cumsum(-1)


GLOBAL = torch.tensor([2.0])

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "straight through": lambda x, m: ZorbRound.apply(x, 8),
    "reversed": lambda x, m: ZorbReverse.apply(x, 0.5),
    "identity": lambda x, m: ZorbIdentity.apply(x),
    "activation": lambda x, m: ZorbSwish.apply(x),
    "norm": lambda x, m: ZorbNorm.apply(x, m.weight, 1e-6),
    "in place": lambda x, m: ZorbInPlace.apply(x * 1),
    "buffer": lambda x, m: ZorbCounts.apply(x.flatten(0, 1), m.seen),
    "twice": lambda x, m: ZorbTwice.apply(x, x),
    "mixed precision": lambda x, m: ZorbAmp.apply(x),
}  # fmt: skip


class Model(nn.Module):
    def __init__(self, case: str) -> None:
        super().__init__()
        self.before, self.after = nn.Linear(6, 6), nn.Linear(6, 6)
        self.weight = nn.Parameter(torch.rand(6))
        self.register_buffer("seen", torch.zeros(6))
        self.case = case

    def forward(self, x: Any) -> Any:
        found = CASES[self.case](self.before(x), self)
        if isinstance(found, tuple):
            return self.after(found[0]), found[1]
        return self.after(found)


def check(found: Rewriting) -> None:
    assert found.trace["reasons"] == []
    assert found.same, (found.equivalence, found.text)
    assert "(torch.autograd.Function):" in found.text
    assert not re.search("zorb", found.text, re.IGNORECASE)


@pytest.mark.parametrize("case", CASES)
def test_a_function_of_the_model_stays_one_with_its_gradient(case: str) -> None:
    check(rewriting(lambda: (Model(case), (torch.randn(2, 3, 6),)), True))


def test_a_function_under_autocast_stays_there() -> None:
    def function(x: Any, weight: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return ZorbAmp.apply(x @ weight).sin()

    check(rewriting(lambda: (function, (torch.randn(3, 4).requires_grad_(), torch.randn(4, 4)))))


def test_equal_functions_are_one_class_and_loops_stay_loops() -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(6, 6)

        def forward(self, x: Any) -> Any:
            return ZorbReverse.apply(ZorbSwish.apply(self.linear(x)), 0.5)

    found = rewriting(lambda: (nn.Sequential(*[Layer() for _ in range(5)]), (torch.randn(3, 6),)))
    check(found)
    assert found.text.count("(torch.autograd.Function):") == 2
    assert found.text.count("Function1.apply") == 1


def test_without_gradients_the_forward_is_enough() -> None:
    found = rewriting(
        lambda: (torch.no_grad()(lambda x: ZorbSwish.apply(x).sin()), (torch.randn(3),))
    )
    check(found)
    assert "def backward" not in found.text
