"""Watching, or another program beside it, may have made the script's own call too slow for its limit."""

import torch
from held_clock import in_the_program, stand_still


def backend(gm, inputs):
    if in_the_program():
        stand_still()
    raise ValueError("no")


torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
