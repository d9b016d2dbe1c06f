import torch
from torch.utils.checkpoint import checkpoint
from wrong_backend import wrong


def stage(x):
    return torch.sin(x)


def f(x):
    return torch.cos(checkpoint(stage, x * 2, use_reentrant=False)).exp()


torch.compile(f, backend=wrong)(torch.randn(4, 5))
