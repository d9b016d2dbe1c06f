import torch
from swapped import swapped


def f(x, seen):
    seen.add_(1)
    x = x * seen
    for _ in range(6):
        x = torch.sin(x)
        seen.mul_(2)
    return torch.sigmoid(x + seen / 99)


g = torch.compile(f, backend=swapped)
g(torch.ones(3), torch.zeros(3))
