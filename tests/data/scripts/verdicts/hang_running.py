import torch
from held_clock import stand_still


def backend(gm, inputs):
    return lambda *a: stand_still()


torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
