import torch
from swapped import swapped


def f(x):
    for i in range(8):
        x = x + torch.sin(x) / 9
        if i == 4:
            x = torch.sigmoid(x)
    return x


g = torch.compile(f, backend=swapped)
g(torch.ones(3))
