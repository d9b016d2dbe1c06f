"""A model rewritten as a whole computes what it computed, reads as a person would write it, and
names nothing of its own.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from anonymizer.graph import recipes
from anonymizer.model import model
from anonymizer.trace import reading
from tests.support.round_trips import Rewriting, rewriting


class Biased(nn.Module):
    """Attention with a bias that depends on the distance."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.quark = nn.Linear(width, 3 * width)
        self.gluon = nn.Linear(width, width)
        self.heads = heads
        self.tempo = nn.Parameter(torch.ones(1))
        self.register_buffer("slopes", 2.0 ** -torch.arange(1.0, heads + 1))

    def forward(self, x: Any, mask: Any = None) -> Any:
        b, t, d = x.shape
        q, k, v = (
            part.view(b, t, self.heads, d // self.heads).transpose(1, 2)
            for part in self.quark(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads) * self.tempo
        spots = torch.arange(t, device=x.device)
        scores = scores + self.slopes[:, None, None] * (spots[None] - spots[:, None])
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        return self.gluon((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, drop: float = 0.1) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixer = Biased(width, heads)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(drop), nn.Linear(4 * width, width)
        )

    def forward(self, x: Any, mask: Any = None) -> Any:
        x = x + self.mixer(self.before(x), mask)
        return x + self.mlp(self.after(x))


class Decoder(nn.Module):
    def __init__(self, layers: int = 3, drops: tuple[float, ...] = ()) -> None:
        super().__init__()
        self.table = nn.Embedding(100, 32)
        rates = drops or (0.1,) * layers
        self.stack = nn.ModuleList([Layer(32, 4, rate) for rate in rates])
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 100, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids: Any) -> Any:
        x = self.table(ids)
        mask = torch.triu(torch.ones(ids.size(1), ids.size(1), dtype=torch.bool), 1)
        for layer in self.stack:
            x = layer(x, mask)
        with torch.no_grad():
            mean = x.mean()
        return {"logits": self.head(self.norm(x)), "mean": mean}


def ids() -> Any:
    return torch.randint(0, 100, (2, 9))


def text_without_spaces(found: Rewriting) -> str:
    return re.sub(r"\s+", "", found.text)


@pytest.mark.parametrize("training", [False, True])
def test_a_decoder_is_written_as_a_person_would(training: bool) -> None:
    found = rewriting(lambda: (Decoder(), (ids(),)), training)
    assert found.same, found.equivalence
    assert found.equivalence["outputs"]["count"] == 2
    text = text_without_spaces(found)
    assert "forblock1inself.blocks1:" in text
    assert "nn.ModuleList([Block2()for_inrange(3)])" in text
    assert "nn.Sequential(nn.Linear(32,128),nn.GELU(),nn.Dropout(p=0.1),nn.Linear(128,32))" in text
    assert "self.linear1.weight=self.embedding1.weight" in text  # tied as it was
    assert "torch.arange(n1)" in text and "n1=x.size(1)" in text  # a size stays a size
    assert "withtorch.no_grad():" in text
    assert "/math.sqrt(8)" in text  # not 2.8284271247461903
    assert not re.search(r"quark|gluon|tempo|slopes|mixer|Biased|Decoder|Layer\b", found.text)


def test_a_sequence_stands_for_no_class() -> None:
    found = rewriting(lambda: (Decoder(), (ids(),)))
    program = reading.read_program(found.trace, recipes.make_recipe_chooser("plain"))
    classes = model.write(program).counterparts.classes
    assert set(classes) == {"Repro", "Block1", "Block2"}


def test_the_text_does_not_grow_with_the_model() -> None:
    lengths = {
        layers: len(rewriting(lambda n=layers: (Decoder(n), (ids(),))).text.splitlines())
        for layers in (2, 7)
    }
    assert len(set(lengths.values())) == 1, lengths


def test_blocks_that_differ_in_a_number_share_a_class() -> None:
    found = rewriting(lambda: (Decoder(drops=(0.1, 0.2, 0.3)), (ids(),)), True)
    assert found.same, found.equivalence
    assert found.text.count("class Block") == 2
    assert "[Block2(size) for size in (0.1, 0.2, 0.3)]" in found.text


class Shared(nn.Module):
    """One layer called from two blocks, one block called twice in different ways, a parameter read
    by another block.
    """

    def __init__(self) -> None:
        super().__init__()
        shared = nn.Linear(8, 8)
        self.one = Caller(shared)
        self.two = Caller(shared)

    def forward(self, x: Any) -> Any:
        x = self.one(x, False)
        x = self.two(x, True)
        return self.one(x, True) * self.two.own


class Caller(nn.Module):
    def __init__(self, shared: nn.Module) -> None:
        super().__init__()
        self.shared = shared
        self.own = nn.Parameter(torch.randn(8))

    def forward(self, x: Any, flag: bool) -> Any:
        x = self.shared(x) + self.own
        return x.relu() if flag else x.sin() * 2


class Mutating(nn.Module):
    """Buffers that move, arguments changed in place, views of one memory, indexed assignment."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Any, view: Any) -> Any:
        self.seen += 1
        view.mul_(2)
        y = self.norm(x)
        y[0] = 0
        first, *rest = y.split(2, dim=1)
        z = y.clone()
        z[:, 1:3] += 1
        return z, first + rest[0], x.t().contiguous()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.cell = nn.GRUCell(10, 10)
        self.conv = nn.Conv1d(10, 4, 3, padding=1, groups=2, bias=False)
        self.pool = nn.AdaptiveAvgPool1d(2)

    def forward(self, x: Any) -> Any:
        out, (h, c) = self.rnn(x)
        state = out[:, 0]
        for step in range(4):
            state = self.cell(out[:, step], state)
        return self.pool(self.conv(out.transpose(1, 2))), state, c, h


class Stock(nn.Module):
    """Attention and transformer layers of torch.nn, with arguments that are passed in different
    ways.
    """

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, 0.1, "gelu", batch_first=True), 2
        )
        self.decoder = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=True)
        self.bag = nn.EmbeddingBag(20, 8, mode="sum")

    def forward(self, x: Any, words: Any) -> Any:
        y, weights = self.attention(x, x, x, need_weights=True, average_attn_weights=False)
        z = self.encoder(x + y)
        return self.decoder(z, memory=y) + self.bag(words)[:, None], weights


class Ranges(nn.Module):
    """Contexts, integer arithmetic on sizes, comparisons, scalars and lists."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(6, 6)

    def forward(self, x: Any) -> Any:
        half = x.shape[-1] // 2
        left, right = x[..., :half], x[..., half:]
        turned = torch.cat((-right, left), dim=-1)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.lin(x)
        n = x.size(0) * x.size(1) - 1
        padded = F.pad(y.float().flatten(0, 1)[:n], (1, 0), value=0.5)
        return turned, padded, 1 - x, 2**x, (x > 0) & (x < 1), torch.stack([x, x.abs()]), -x @ x.mT


class Decisions(nn.Module):
    """Values that Python sees, layers in plain lists, tensors in dictionaries, checkpointing,
    hooks, parametrizations.
    """

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.hidden = [nn.Linear(4, 4)]
        self.table = {"k": [torch.randn(4)]}
        self.hooked = nn.Linear(4, 4)
        self.hooked.register_forward_hook(lambda module, given, out: out * 2)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))

    def forward(self, x: Any) -> Any:
        rows = int(x.abs().sum().item()) % 2 + 1
        if (x > 100).any():
            return x
        x = torch.utils.checkpoint.checkpoint(self.block, x, use_reentrant=False)
        x = torch.utils.checkpoint.checkpoint(
            lambda y: self.hidden[0](y).sin() + x, x, use_reentrant=False
        )
        return self.normed(self.hooked(x))[:rows] * self.table["k"][0] * x.argmax().item()


class FakeLinear(nn.Linear):
    def forward(self, x: Any) -> Any:
        return F.linear(x, self.weight.abs(), self.bias)


FakeLinear.__name__ = FakeLinear.__qualname__ = "Linear"


CASES = {
    "shared": lambda: (Shared(), (torch.randn(3, 8),)),
    "mutating": lambda: _mutating(),
    "recurrent": lambda: (Recurrent(), (torch.randn(2, 4, 6),)),
    "stock": lambda: (Stock(), (torch.randn(2, 5, 8), torch.randint(0, 20, (2, 4)))),
    "ranges": lambda: (Ranges(), (torch.randn(2, 3, 6),)),
    "function": lambda: (
        lambda x, *, y: torch.where(x > 0, x, y).sum(), (torch.randn(4),), {"y": torch.zeros(4)}
    ),
    "decisions": lambda: (Decisions(), (torch.randn(3, 4),)),
    "impostor": lambda: (nn.Sequential(FakeLinear(4, 4), nn.ReLU()), (torch.randn(3, 4),)),
    "half": lambda: (Ranges().bfloat16(), (torch.randn(2, 3, 6, dtype=torch.bfloat16),)),
}  # fmt: skip


def _mutating() -> tuple[Any, ...]:
    base = torch.randn(5, 4)
    return Mutating(), (torch.randn(5, 4), base[1:])


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_rewritten_model_computes_the_same(name: str, training: bool) -> None:
    found = rewriting(CASES[name], training)
    assert found.trace["reasons"] == []
    assert found.same, (found.equivalence, found.text)


class OwnGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return torch.from_numpy(gradient.detach().numpy() * 3)


class Odd(nn.Module):
    """What no stock operation stands for; `how` says what."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        if self.how == "gradient":
            return OwnGradient.apply(self.layer(x))
        if self.how == "numpy":
            return torch.from_numpy(x.numpy() * 2) + self.layer(x)
        if self.how == "transform":
            return torch.vmap(lambda row: self.layer(row).sin())(x)
        return self.layer(Marked(x)).sin()


class Marked(torch.Tensor):
    """A wrapper with a dispatch of its own."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = [item.inner * 2 if isinstance(item, Marked) else item for item in args]
        return func(*plain, **(kwargs or {}))


class Tagged(torch.Tensor):
    """A subclass that says nothing of what operators do."""


class Doubling(torch.Tensor):
    """One that does something more."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs)
        return result * 2 if func is torch.sin else result


@pytest.mark.parametrize("cls, given", [(Tagged, True), (Doubling, False)])
def test_plain_tensors_stand_for_subclasses(cls: Any, given: bool) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("scale", torch.rand(4).as_subclass(cls))

        def forward(self, x: Any) -> Any:
            x = self.layer(x if given else x.as_subclass(cls)) * self.scale
            return torch.sin(x), x.size(0)

    x = torch.randn(3, 4)
    found = rewriting(lambda: (Model(), (x.as_subclass(cls) if given else x,)))
    assert found.trace["reasons"] == ["a tensor subclass"]
    parts = [found.equivalence[name]["how"] for name in ("outputs", "gradients", "buffers")]
    assert parts == ["bitwise"] * 3, (found.equivalence, found.text)
    assert not re.search("Tagged|Doubling|subclass", found.text)


@pytest.mark.parametrize(
    "how, reason",
    [
        ("gradient", "torch.autograd.Function"),
        ("numpy", "NumPy"),
        ("transform", "torch functions are not seen"),
        ("subclass", "torch functions are not seen"),
    ],
)
def test_what_cannot_be_rewritten_is_never_called_equivalent(how: str, reason: str) -> None:
    found = rewriting(lambda: (Odd(how), (torch.randn(3, 4),)))
    assert any(reason in item for item in found.trace["reasons"])
    parts = [found.equivalence[name]["how"] for name in ("outputs", "gradients")]
    assert "differ" in parts
    assert not re.search(r"OwnGradient|Marked|Odd", json.dumps({**found.trace, "private": 0}))


def test_a_custom_operator_is_looked_into() -> None:
    found = rewriting(_with_custom_operator)
    assert found.equivalence["outputs"]["how"] == "bitwise"
    assert found.trace["reasons"] == ["a custom operator"]
    assert found.equivalence["operators"]["changed"]["a custom operator"] == [1, 0]
    assert not re.search("zorblax", found.text + json.dumps(found.equivalence))


def _with_custom_operator() -> tuple[Any, ...]:
    def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor + 1

    operator = torch.library.custom_op("zorblax::scale", scale, mutates_args=())
    return lambda x: operator(x, 3.0).sin(), (torch.randn(4),)


def test_a_wrong_rewriting_is_not_called_equivalent() -> None:
    """The check must be able to fail: a model in which two layers have changed places."""

    def swapped(text: str) -> str:
        assert "self.layer_norm1(x)" in text
        return text.replace("self.layer_norm1(x)", "self.layer_norm2(x)", 1)

    found = rewriting(lambda: (_uneven(), (ids(),)), change=swapped)
    assert found.equivalence["outputs"]["how"] == "differ"
    assert found.equivalence["layer"] is not None


@pytest.mark.parametrize(
    "private, public, how",
    [
        ("(x + 10000.0) - 10000.0", "x.sin().asin()", "refereed"),
        ("x.sin().asin()", "(x + 10000.0) - 10000.0", "differ"),
    ],
)
def test_float64_says_whose_rounding_it_is(private: str, public: str, how: str) -> None:
    """What loses digits is far off, what keeps them is not: only the latter may stand for the
    former.
    """

    def replaced(text: str) -> str:
        assert private in text
        return text.replace(private, public)

    function = eval(f"lambda x: {private}", {"torch": torch})
    found = rewriting(lambda: (function, (torch.rand(1000),)), change=replaced)
    assert found.equivalence["outputs"]["how"] == how


def _uneven() -> Decoder:
    made = Decoder()
    for parameter in made.parameters():
        nn.init.normal_(parameter)
    return made
