import os

import torch


@torch._dynamo.disable
def noisy(x):
    return x + torch.tensor(float(int.from_bytes(os.urandom(2), "big")))


torch.compile(lambda x: noisy(x) * 2, backend="eager")(torch.ones(3))
