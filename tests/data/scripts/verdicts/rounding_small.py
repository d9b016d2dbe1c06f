"""A hair's breadth off, which only the script minds."""

import torch


def backend(gm, inputs):
    return lambda *a: tuple(o * (1 + 3e-7) for o in gm(*a))


x = torch.tensor([0.31, 0.4567, 0.8])
assert torch.equal(torch.compile(torch.sin, backend=backend)(x), torch.sin(x))
