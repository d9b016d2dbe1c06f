"""Random module trees through the rewriter: whatever the tree, the rewritten model computes the
same, by the same operators.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.support.round_trips import rewriting

WIDTHS = (4, 6, 8)
UNARY = ("relu", "sin", "tanh", "abs", "neg", "exp", "sigmoid", "square")


class Tree(nn.Module):
    """A random program over (3, 5, width) values: layers, children, arithmetic, views, in-place
    updates, sharing.
    """

    def __init__(self, choose: random.Random, width: int, depth: int) -> None:
        super().__init__()
        self.plan: list[tuple[Any, ...]] = []
        self.layers = nn.ModuleList()
        self.register_buffer("shift", torch.randn(width))
        self.scale = nn.Parameter(torch.randn(width))
        for _ in range(choose.randint(2, 6)):
            self.plan.append(self._step(choose, width, depth))

    def _step(self, choose: random.Random, width: int, depth: int) -> tuple[Any, ...]:
        kind = choose.choice(_KINDS if depth else _LEAVES)
        if kind == "child":
            self.layers.append(Tree(choose, width, depth - 1))
        elif kind == "repeat":
            seed = choose.randint(0, 10**6)
            times = choose.randint(2, 4)
            children = [Tree(random.Random(seed), width, depth - 1) for _ in range(times)]
            self.layers.append(nn.ModuleList(children))
        elif kind == "linear":
            self.layers.append(nn.Linear(width, width, bias=choose.random() < 0.5))
        elif kind == "norm":
            self.layers.append(nn.LayerNorm(width))
        elif kind == "wide":
            inner = choose.choice(WIDTHS) * 2
            self.layers.append(
                nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))
            )
        elif kind == "again" and len(self.layers):
            return kind, choose.randrange(len(self.layers))
        elif kind == "unary":
            return kind, choose.choice(UNARY)
        return kind, len(self.layers) - 1

    def forward(self, x: Any) -> Any:
        kept = x
        for kind, which in self.plan:
            x, kept = self._apply(kind, which, x, kept)
        return x

    def _apply(self, kind: str, which: Any, x: Any, kept: Any) -> tuple[Any, Any]:
        n = x.size(1)
        if kind == "unary":
            return getattr(torch, which)(x).clamp(-3, 3), x
        if kind == "mix":
            return x * self.scale + self.shift, x
        if kind == "residual":
            return x + kept * 0.5, kept
        if kind == "views":
            first, second = x.transpose(1, 2).chunk(2, dim=1)
            return torch.cat((second, -first), dim=1).transpose(1, 2), x
        if kind == "positions":
            return x + torch.arange(n, dtype=x.dtype)[None, :, None] / (2 * n - 1), kept
        if kind == "update":
            y = x.clone()
            y[:, 1:] += 1
            y.mul_(self.shift)
            return y, x
        if kind == "pad":
            return F.pad(x, (0, 0, 1, 0))[:, : n // 1], kept
        if kind == "stopped":
            with torch.no_grad():
                mean = x.mean(dim=-1, keepdim=True)
            return x - mean, x
        return self._layer(which, x), x

    def _layer(self, which: int, x: Any) -> Any:
        if which < 0:
            return x
        layer = self.layers[which]
        for part in layer if isinstance(layer, nn.ModuleList) else [layer]:
            x = part(x)
        return x


_LEAVES = tuple("unary mix residual views positions update pad stopped linear norm wide".split())
_KINDS = (*_LEAVES, "child", "child", "repeat", "repeat", "again")


@pytest.mark.parametrize(
    "seed",
    [
        *range(12),
        16,
        251,
        275,
        # All gradients of 48 are zero, and zeros prove nothing: they are "not compared".
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 140) if seed != 48),
    ],
)
def test_a_random_tree_computes_the_same_when_rewritten(seed: int) -> None:
    choose = random.Random(seed)
    width, depth = choose.choice(WIDTHS), choose.randint(1, 3)
    found = rewriting(
        lambda: (Tree(random.Random(seed), width, depth), (torch.randn(3, 5, width),)),
        training=bool(seed % 2),
    )
    assert found.trace["reasons"] == []
    assert found.same, (found.equivalence, found.text)
