"""Compares two calls of a module that counts them; the compiled one differs by rounding alone."""

import torch


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(10, 10)
        self.norm = torch.nn.BatchNorm1d(10)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.norm(self.layer(x)) * self.calls


torch.manual_seed(5)
counter = Counter()
x = torch.randn(16, 10)
expected = counter(x)
assert torch.allclose(torch.compile(counter)(x), expected, atol=1e-4)
