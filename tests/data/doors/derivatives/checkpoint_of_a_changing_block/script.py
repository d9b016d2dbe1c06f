import random
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

a, b = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh())
calls = [0]


def block(x):
    calls[0] += 1
    return b(a(x)) if calls[0] % 2 else a(x)


x = torch.randn(2, 4, requires_grad=True)
y = checkpoint(block, x, use_reentrant=False)
y.sum().backward()
print(x.grad)
