"""Models that pretend to be something else: named like stock layers, changed on the spot, or
written to confuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tests.support.scripts import text

#: Words of the models below.
CANARY = "zorblax|größe|Überblock|quuxel"


class Dropout(nn.Dropout):
    """Named like a stock layer, and derived from it, with other behavior."""

    def forward(self, zorblax: Any) -> Any:
        return zorblax * 2


class LayerNorm(nn.Module):
    """Named like a stock layer, with the same attributes."""

    def __init__(self, normalized_shape: int) -> None:
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = (normalized_shape,), 1e-5, True
        self.weight = nn.Parameter(torch.rand(normalized_shape))
        self.bias = nn.Parameter(torch.rand(normalized_shape))

    def forward(self, x: Any) -> Any:
        return x.sub(x.amax(-1, keepdim=True)) * self.weight + self.bias


class Sequential(nn.Sequential):
    def forward(self, x: Any) -> Any:
        for module in reversed(self):
            x = module(x)
        return x


def _claims_to_be_torch() -> nn.Module:
    class Linear(nn.Linear):
        def forward(self, input: Any) -> Any:
            return F.linear(input, self.weight.relu(), self.bias)

    Linear.__module__, Linear.__qualname__ = "torch.nn.modules.linear", "Linear"
    return nn.Sequential(Linear(4, 4), nn.Tanh())


def _changed_on_the_spot() -> nn.Module:
    made = nn.Sequential(nn.Linear(4, 4), nn.GELU())
    made[1].forward = lambda zorblax: zorblax.sigmoid()
    return made


def _another_class_afterwards() -> nn.Module:
    made = nn.Sequential(nn.Linear(4, 4), nn.Dropout())
    made[1].__class__ = Dropout
    return made


def _made_by_exec(name: str) -> nn.Module:
    """A class that has no source file, as unreadable as can be."""
    space: dict[str, Any] = {"nn": nn, "torch": torch}
    exec(text("pretenders/obfuscated").replace("Obfuscated", name), space)
    made: nn.Module = space[name]()
    return made


#: What the model pretends, and the model.
CASES: dict[str, Callable[[], nn.Module]] = {
    "a subclass with the stock name": lambda: nn.Sequential(nn.Linear(4, 4), Dropout()),
    "the stock name and attributes": lambda: nn.Sequential(nn.Linear(4, 4), LayerNorm(4)),
    "a sequence that runs backwards": lambda: Sequential(nn.Tanh(), nn.Linear(4, 4), nn.ReLU()),
    "a module of torch, it says": _claims_to_be_torch,
    "a forward of its own": _changed_on_the_spot,
    "another class afterwards": _another_class_afterwards,
    "made by exec": lambda: _made_by_exec("Überblock"),
    "named like torch": lambda: _made_by_exec("Tensor"),
    "one letter": lambda: _made_by_exec("_"),
}
