"""Generated programs: python bench/programs.py KIND N prints one.

Each program is what a private model looks like, a residual stack of attention, feed-forward and
mixing layers over (2, 16, 32), with one bug of torch 2.13.0 at about 60 % of its depth. Layers are
counted in tensor operations, so a program of N operators has N of them give or take the smallest
layer. The healthy layers never use `relu` or `log1p`, which are the operators that two switches of
Inductor's own tests can break.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

DEPTH = 0.6

HEAD = """\
import torch

F = torch.nn.functional
WIDTH, HEADS = 32, 4
"""

ATTEND = """

class Attend(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, h):
        batch, length, width = h.shape
        query, key, value = self.qkv(self.norm(h)).chunk(3, dim=-1)
        query = query.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
        key = key.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
        value = value.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
        scores = torch.matmul(query, key.transpose(-2, -1)) * 0.35
        mixed = torch.matmul(torch.softmax(scores, dim=-1), value)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        return h + torch.tanh(self.out(mixed))
"""

FEED = """

class Feed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.down = torch.nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, h):
        wide = F.gelu(self.up(self.norm(h)))
        return h + 0.5 * self.down(wide)
"""

MIX = """

class Mix(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.along = torch.nn.Conv1d(WIDTH, WIDTH, 3, groups=WIDTH)
        self.down = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, h):
        left, gate = self.up(self.norm(h)).chunk(2, dim=-1)
        row = F.pad((left * torch.sigmoid(gate)).transpose(1, 2), (2, 0))
        row = F.silu(self.along(row).transpose(1, 2))
        row = row - row.mean(dim=1, keepdim=True)
        return h + torch.tanh(self.down(row)) * 0.5
"""

BLOCK = """

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attend, self.mix, self.feed = Attend(), Mix(), Feed()

    def forward(self, h):
        return self.feed(self.mix(self.attend(h)))
"""

MODEL = """

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.early = torch.nn.ModuleList({early})
        self.adapter = Adapter()
        self.late = torch.nn.ModuleList({late})
        self.norm = torch.nn.LayerNorm(WIDTH)

    def forward(self, h):
        for layer in self.early:
            h = layer(h)
        h = self.adapter(h)
        for layer in self.late:
            h = layer(h)
        return self.norm(h)
"""

START = """

torch.manual_seed(0)
model = Model()
x = torch.randn(2, 16, WIDTH)
"""

RUN = """
with torch.no_grad():
    print(torch.compile(model)(x).sum())
"""
RUN_DYNAMIC = """
with torch.no_grad():
    print(torch.compile(model, dynamic=True)(x).sum())
"""
RUN_COMPARED = """
with torch.no_grad():
    torch.testing.assert_close(torch.compile(model)(x), model(x), rtol=1e-3, atol=1e-3)
"""
RUN_TRAINED = """
goal = torch.randn(2, 16, WIDTH)
parameters = list(model.parameters())
wanted = torch.autograd.grad(F.mse_loss(model(x), goal, reduction="sum"), parameters)
out = torch.compile(model)(x)
torch.testing.assert_close(out, model(x), rtol=1e-3, atol=1e-3)
F.mse_loss(out, goal, reduction="sum").backward()
for parameter, gradient in zip(parameters, wanted):
    torch.testing.assert_close(parameter.grad, gradient, rtol=1e-2, atol=1e-2)
"""

RELU = """

class Adapter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, h):
        return h + F.relu(self.proj(h))
"""
# The forward pass adds zero; the gradient of the gate is the only place where log1p matters.
GATE = """

class Adapter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.zeros(WIDTH))

    def forward(self, h):
        return h + torch.special.xlog1py(self.gate, torch.sigmoid(h))
"""
RAMP = """

class Adapter(torch.nn.Module):
    def forward(self, h):
        batch, length, width = h.shape
        ramp = torch.arange(length).view(1, length, 1) / length
        pairs = (h * ramp.expand(batch, length, width)).reshape(batch * length, width)
        return h + F.relu(pairs).view(batch, length, width)
"""
SHUFFLE = """

class Adapter(torch.nn.Module):
    def forward(self, h):
        order = torch.randperm(h.numel())
        return h + 0.1 * torch.take(h.half(), order).float().view_as(h)
"""

SWITCH = 'torch._inductor.config.cpp.inject_{}_bug_TESTING_ONLY = "{}"\n'


@dataclass(frozen=True)
class Bug:
    """A faulty layer: its class, how many operators it is, what breaks it, and how the model is
    run.
    """

    layer: str
    operators: int
    switch: str
    run: str
    accuracy: bool
    message: str


UNDECLARED = "'compile' was not declared"
BUGS = {
    "compile_error": Bug(RELU, 3, SWITCH.format("relu", "compile_error"), RUN, False, UNDECLARED),
    "wrong_result": Bug(
        RELU, 3, SWITCH.format("relu", "accuracy"), RUN_COMPARED, True, "wrong result"
    ),
    "lowering_crash": Bug(
        SHUFFLE, 7, "", RUN, False, "Not all inputs to pattern found in match.kwargs"
    ),
    "backward": Bug(
        GATE, 3, SWITCH.format("log1p", "accuracy"), RUN_TRAINED, True, "wrong gradient"
    ),
    "dynamic": Bug(RAMP, 9, SWITCH.format("relu", "compile_error"), RUN_DYNAMIC, False, UNDECLARED),
}
SIZES = (10, 50, 200, 600, 2000)

# Operators of each layer, the larger ones first.
OPERATORS = {"Block": 41, "Attend": 19, "Mix": 16, "Feed": 6}
TEXTS = {"Attend": ATTEND, "Mix": MIX, "Feed": FEED, "Block": BLOCK}


def write_program(kind: str, size: int) -> str:
    """A script with about `size` operators, never more except for the smallest ones, and the bug of
    this kind.
    """
    bug = BUGS[kind]
    early = _choose_layers(round(DEPTH * size))
    late = _choose_layers(size - 1 - bug.operators - _count_operators(early))
    used = {*early, *late}
    if "Block" in used:
        used.update(TEXTS)
    classes = [text for name, text in TEXTS.items() if name in used]
    model = MODEL.format(early=_write_list(early), late=_write_list(late))
    start = START.replace("torch.manual_seed", bug.switch + "torch.manual_seed", 1)
    return "".join([HEAD, *classes, bug.layer, model, start, bug.run])


def _choose_layers(operators: int) -> list[str]:
    """Layers with at most so many operators: as many whole blocks as fit, then the largest that
    still fits.
    """
    layers = []
    for name, size in OPERATORS.items():
        layers += [name] * (operators // size)
        operators = max(operators, 0) % size
    return layers


def _count_operators(layers: list[str]) -> int:
    return sum(OPERATORS[name] for name in layers)


def _write_list(layers: list[str]) -> str:
    """`[Block() for _ in range(29)] + [Feed()]`."""
    blocks = layers.count("Block")
    rest = ", ".join(f"{name}()" for name in layers if name != "Block")
    parts = [f"[Block() for _ in range({blocks})]"] if blocks else []
    return " + ".join([*parts, f"[{rest}]"] if rest or not parts else parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=BUGS, nargs="?", default="compile_error")
    parser.add_argument("size", type=int, nargs="?", default=SIZES[0])
    options = parser.parse_args()
    print(write_program(options.kind, options.size), end="")


if __name__ == "__main__":
    main()
