"""Closes every descriptor that it does not know, as a service does, before it compiles and fails."""

import os

import torch


def broken(gm, inputs):
    return lambda *args: [result + 1 for result in gm.forward(*args)]


os.closerange(3, 256)
torch.compile(lambda x: x * 2, backend=broken)(torch.ones(2))
