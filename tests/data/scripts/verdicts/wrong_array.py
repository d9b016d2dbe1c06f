import torch


def backend(gm, inputs):
    return lambda *a: tuple(o + 1 for o in gm(*a))


torch.compile(lambda v: (v * 2).numpy(), backend=backend)(torch.ones(3))
