import os

import torch


def backend(gm, inputs):
    return lambda *a: os.abort()


torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
