import os

import torch


def deadly(gm, inputs):
    return lambda *args: os.abort()


torch.compile(lambda x: x * 2, backend=deadly)(torch.ones(3))
