import torch
from swapped import swapped


def f(x):
    x = torch.nn.functional.dropout(x, 0.5) + torch.rand(64)
    return torch.sigmoid(x)


g = torch.compile(f, backend=swapped)
g(torch.ones(64))
