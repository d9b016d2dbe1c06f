import torch
from swapped import swapped


def f(x):
    a = torch.sigmoid(x)
    b = x
    for _ in range(20):
        b = torch.cos(b)
    return a.exp().exp(), b


g = torch.compile(f, backend=swapped)
g(torch.ones(3))
