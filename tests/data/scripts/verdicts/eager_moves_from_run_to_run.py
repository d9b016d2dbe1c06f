"""Within the tolerance, and as far as the compiled result is off."""

import os

import torch


@torch._dynamo.disable
def noise():
    return torch.tensor(int.from_bytes(os.urandom(4), "big") / 2**32 * 1e-5)


def program(x):
    return x + noise() * 40


x = torch.tensor([0.31, 0.4567, 0.8])
expected = program(x)
assert torch.equal(torch.compile(program, backend="eager")(x), expected)
