"""Eager does not end either where it is repeated."""

import torch
from held_clock import in_the_program, stand_still


@torch.compiler.disable
def waits(x):
    if not in_the_program():
        stand_still()
    return x


def backend(gm, inputs):
    raise ValueError("no")


torch.compile(lambda x: waits(x) + 1, backend=backend)(torch.ones(3))
