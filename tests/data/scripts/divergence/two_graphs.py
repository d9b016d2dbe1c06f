import torch
from swapped import swapped


def f(x):
    y = x.cos() + 1
    torch._dynamo.graph_break()
    return torch.sigmoid(y).exp()


g = torch.compile(f, backend=swapped)
g(torch.ones(3))
