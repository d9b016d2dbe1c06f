import torch
from torch import nn


class Warming(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(4, 2)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.scale(x) * self.calls


torch.manual_seed(0)
model, x = Warming(), torch.randn(3, 4)
exported = torch.export.export(model, (x,), strict=False).module()
for _ in range(3):
    model(x)
exported(x)
