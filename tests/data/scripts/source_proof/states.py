import dataclasses, functools
import torch
from torch import nn

LAYERS = {"first": nn.Linear(4, 4), 2: [nn.Parameter(torch.randn(4))]}

@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor
    weights: list

class Scaled(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)
        self.gain = nn.Parameter(torch.randn(4))

    def forward(self, x):
        return super().forward(x) * self.gain

class Stack(nn.Sequential):
    pass

class Model(nn.Module):
    table = torch.randn(4)

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.stack = Stack(Scaled(), nn.Tanh(), Scaled())
        self.named = nn.ModuleDict({"inner": nn.Linear(4, 4)})
        self.several = nn.ParameterList([torch.randn(4), torch.randn(4)])
        self.register_buffer("seen", torch.zeros(()))
        self.loose = torch.randn(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, batch, shift=torch.randn(4)):
        self.seen += 1
        x = self.norm(batch.tokens) * batch.weights[0] + self.table + shift
        x = self.named["inner"](self.drop(self.stack(x)))
        x = LAYERS["first"](x) + LAYERS[2][0] * self.several[1] + self.several[0] + self.loose
        return functools.partial(torch.add, x)(self.seen), x.argmax(-1)

ENTRY = Model()
ARGS = (Batch(torch.randn(5, 4), [torch.randn(4, requires_grad=True)]),)
