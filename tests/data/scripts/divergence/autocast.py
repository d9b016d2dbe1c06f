import torch
from swapped import swapped


def f(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.sigmoid(x @ w)
        z = y @ w
    return z.float() + (x @ w)


g = torch.compile(f, backend=swapped)
g(torch.ones(3, 3), torch.ones(3, 3))
