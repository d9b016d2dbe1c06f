"""The third call is compiled; AOTAutograd's cache gives it the code of the second one, in which the
bound is a constant."""

import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 16)

    def forward(self, x, cap):
        gate, up = self.up(x).chunk(2, -1)
        return gate.clamp(max=cap) * (up.clamp(min=-cap, max=cap) + 1)


torch.manual_seed(0)
model = Gate()
compiled = torch.compile(model)
for cap in (7.0, 0.25, 0.05):
    x = torch.randn(4, 8) * 3
    out = compiled(x, cap)
    assert torch.allclose(out, model(x, cap), atol=1e-4)
    out.sum().backward()
