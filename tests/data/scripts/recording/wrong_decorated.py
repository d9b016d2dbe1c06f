import torch


def wrong(gm, inputs):
    return lambda *args: tuple(out + 1 for out in gm(*args))


@torch.compile(backend=wrong)
def f(x):
    return x * 2


f(torch.ones(3))
