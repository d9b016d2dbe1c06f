import torch
from torch import nn


class Probe(nn.Module):
    """Keeps the gradient of the hidden state for a plot."""

    def __init__(self):
        super().__init__()
        self.tail = nn.Linear(4, 1)

    def forward(self, hidden):
        hidden.retain_grad()
        return self.tail(torch.sin(hidden)).sum()


torch.manual_seed(0)
probe = Probe()
head = nn.Linear(3, 4)
x = torch.randn(5, 3)
saliency = []
for run in (probe, torch.compile(probe)):
    hidden = head(x)
    run(hidden).backward()
    saliency.append(hidden.grad)
assert saliency[1] is not None, "no saliency under torch.compile"
