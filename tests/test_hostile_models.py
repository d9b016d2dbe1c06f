"""Models that pretend to be something else: never a private word, and never an equivalence that does not hold."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.round_trips import rewriting

torch = pytest.importorskip("torch", reason="the user's interpreter needs torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

CANARY = "zorblax|größe|Überblock|quuxel"


class Dropout(nn.Dropout):
    """Named like a stock layer, and derived from it, with other behaviour."""

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


_OBFUSCATED = """
class {0}(nn.Module):
    def __init__(__, _=4):
        super().__init__()
        __.l, __.O, __.forward2, __.nn = (nn.Linear(_, _) for ___ in range(4))
        __.torch = 'zorblax' ; __.größe = nn.Parameter(torch.rand(_))
    def forward(l, O):
        return (lambda F: (lambda torch: F(torch(O)))(getattr(l, chr(108))))(lambda I: getattr(I, "r" + "elu")() * l.größe + l.O(l.nn(I)))
"""


def _made_by_exec(name: str) -> nn.Module:
    space: dict[str, Any] = {"nn": nn, "torch": torch}
    exec(_OBFUSCATED.format(name), space)
    made: nn.Module = space[name]()
    return made


CASES: dict[str, Any] = {
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


@pytest.mark.parametrize("case", CASES)
def test_pretenders(case: str) -> None:
    found = rewriting(lambda: (CASES[case](), (torch.randn(3, 4),)), True)
    assert found.trace["reasons"] == []
    assert found.same, (found.equivalence, found.text)
    said = found.text + json.dumps(found.equivalence) + json.dumps({**found.trace, "private": 0})
    assert not re.search(CANARY, said, re.IGNORECASE)


@pytest.mark.parametrize("name", ["gelu", "linear"])
def test_stock_layers_are_not_believed_where_torch_itself_was_changed(name: str) -> None:
    """In the private process both models would call the replacement, and be equal; elsewhere they are not."""

    def make() -> tuple[Any, ...]:
        original = getattr(F, name)

        def replaced(*args: Any, **kwargs: Any) -> Any:
            return original(*args, **kwargs) * 2

        setattr(F, name, replaced)
        return nn.Sequential(nn.Linear(4, 4), nn.GELU()), (torch.randn(3, 4),)

    found = rewriting(make)
    assert any("replaced" in reason for reason in found.trace["reasons"])
    assert found.equivalence.get("outcome") != "ok" or not found.same
