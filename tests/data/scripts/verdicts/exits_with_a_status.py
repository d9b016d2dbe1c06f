import os

import torch


def backend(gm, inputs):
    return lambda *a: os._exit(7)


torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
