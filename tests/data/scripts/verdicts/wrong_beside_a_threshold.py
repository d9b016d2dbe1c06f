import torch


def backend(gm, inputs):
    return lambda *a: (lambda o: (o[0] * 0, o[1] + 1))(gm(*a))


torch.compile(lambda v: (torch.floor(v), torch.exp(v)), backend=backend)(torch.ones(3))
