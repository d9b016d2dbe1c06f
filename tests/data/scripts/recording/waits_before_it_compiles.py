"""Takes most of its time before its first compiled call, and most of it again before the second."""

import torch
from held_clock import pass_by


def broken(gm, inputs):
    return lambda *args: [result + 1 for result in gm.forward(*args)]


pass_by(400)
torch.compile(lambda x: x * 2, backend="eager")(torch.ones(2))
pass_by(400)
torch.compile(lambda x: x * 3, backend=broken)(torch.ones(2))
