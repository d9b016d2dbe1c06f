import torch


def backend(gm, inputs):
    return lambda *a: tuple(o.long().flatten() for o in gm(*a))


print(torch.compile(lambda x: x * 2, backend=backend)(torch.ones(2, 3)))
