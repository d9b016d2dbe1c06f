import torch


def backend(gm, inputs):
    return lambda *a: (lambda o: (o[0] + 1, o[1]))(gm(*a))


torch.compile(lambda v: (v * 2, (v * 1e12).to(torch.int32)), backend=backend)(torch.ones(3))
