"""A hair's breadth off, and the script ends well."""

import torch


def backend(gm, inputs):
    return lambda *a: tuple(o * (1 + 3e-7) for o in gm(*a))


torch.compile(torch.sin, backend=backend)(torch.tensor([0.31, 0.4567, 0.8]))
