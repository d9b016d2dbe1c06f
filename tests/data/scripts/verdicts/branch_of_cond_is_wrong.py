import torch


def backend(gm, inputs):
    return lambda *a: tuple(o + 1 for o in gm(*a))


def program(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


print(torch.compile(program, backend=backend)(torch.ones(3)))
