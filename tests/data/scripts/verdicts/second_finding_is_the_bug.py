"""The first call draws noise, the second is wrong."""

import os

import torch


@torch._dynamo.disable
def noisy(x):
    return x + torch.tensor(float(int.from_bytes(os.urandom(2), "big")))


def backend(gm, inputs):
    return lambda *a: tuple(o + 1 for o in gm(*a))


torch.compile(lambda x: noisy(x) * 2, backend="eager")(torch.ones(3))
torch.compile(lambda x: x * 2, backend=backend)(torch.ones(3))
