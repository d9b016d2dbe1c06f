"""An operator of the program's own that has no float64 kernel leaves no reference but the tolerance."""

import torch


def only_float32(x):
    if x.dtype == torch.float64:
        raise TypeError("float32 only")
    return torch.sin(x)


def backend(gm, inputs):
    return lambda *a: tuple(o * (1 + 3e-7) for o in gm(*a))


x = torch.tensor([0.31, 0.4567, 0.8])
assert torch.equal(torch.compile(only_float32, backend=backend)(x), torch.sin(x))
