import os

import torch


@torch.compiler.disable
def save(x):
    if x.sum() > 2:
        os.abort()
    return x


torch.compile(lambda x: save(x) + 1, backend="eager")(torch.ones(3))
