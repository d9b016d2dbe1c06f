"""A NaN is lost, and what is returned instead shares memory with an argument."""

import torch


def skip(p, g, v):
    return torch.addcdiv(p, g, v, value=0)


p, g, v = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]), torch.tensor([0.0, 4.0])
compiled = torch.compile(skip)(p, g, v)
assert torch.equal(compiled.isnan(), skip(p, g, v).isnan())
