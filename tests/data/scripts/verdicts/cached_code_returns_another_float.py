"""A float that a compiled function returns is the one of an earlier call, out of the cache."""

import torch


def step(x, sharpness):
    return x * sharpness, sharpness + 1


x = torch.ones(2)
compiled = torch.compile(step)
for sharpness in (1.5, 2.5, 3.5):
    assert compiled(x, sharpness)[1] == sharpness + 1
