import os

import torch


def backend(gm, inputs):
    return lambda *a: os.abort()


m = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
torch.compile(lambda m: torch.linalg.cholesky(m), backend=backend)(m)
