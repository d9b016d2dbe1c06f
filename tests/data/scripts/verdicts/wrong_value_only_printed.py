import torch


def backend(gm, inputs):
    return lambda *a: tuple(o + 1 for o in gm(*a))


print(torch.compile(lambda x: x * 2, backend=backend)(torch.ones(3)))
