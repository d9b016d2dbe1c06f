"""A class attribute that a compiled call does not change, in a branch for infinities alone."""

import torch
import torch.nn as nn


class SecretGuard:
    skipped_batches = []


class SecretNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 4)

    def forward(self, x):
        if torch.isinf(x).any():
            SecretGuard.skipped_batches.append(x.shape[0])
            x = torch.nan_to_num(x, posinf=0.0)
        return self.lin(x)


torch.manual_seed(0)
net = SecretNet()
x = torch.randn(6, 8)
x[2, 3] = float("inf")
net(x)
expected = list(SecretGuard.skipped_batches)
SecretGuard.skipped_batches.clear()
torch.compile(net)(x)
print(expected, SecretGuard.skipped_batches)
assert SecretGuard.skipped_batches == expected
