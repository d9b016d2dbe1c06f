import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("thresholds", torch.tensor([0.1875, 0.375, 0.71, 0.9]))
        self.lin = nn.Linear(4, 4)
    def forward(self, x):
        h = torch.relu(self.lin(x))
        return torch.exp(self.thresholds) + h

def fragile(gm, example):
    def run(*args):
        out = gm(*args)
        bad = any(isinstance(a, torch.Tensor) and a.shape == (4,) and bool((a == 0.375).any()) for a in args)
        return tuple(o + 1 for o in out) if bad else out
    return run

torch.manual_seed(0)
m = Gate()
x = torch.randn(2, 4)
print(torch.compile(m, backend=fragile)(x) - m(x))
