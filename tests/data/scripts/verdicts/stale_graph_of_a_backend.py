"""The backend bakes in what it saw first, and guards nothing."""

import torch


def backend(gm, inputs):
    out = gm(*inputs)
    return lambda *a: out if a[0].shape == inputs[0].shape else gm(*a)


f = torch.compile(lambda x: x * 2, backend=backend)
for n in range(3):
    f(torch.full((3,), float(n)))
