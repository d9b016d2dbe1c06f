import torch


def backend(gm, inputs):
    return lambda *a: tuple(o + 1 for o in gm(*a))


torch.manual_seed(0)
torch.compile(lambda v: v + torch.exp(v) * torch.randn_like(v), backend=backend)(torch.ones(3))
