import torch


def fn(x, y):
    return y * torch.frexp(x).exponent


x, y = torch.ones(4, 1), torch.ones(4, 1)
torch.compile(fn)(x, y)
