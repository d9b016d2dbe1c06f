import os

import torch
import torch._inductor.lowering


def lowering(*args, **kwargs):
    os.abort()


torch._inductor.lowering.lowerings[torch.ops.aten.sin.default] = lowering
torch.compile(torch.sin)(torch.ones(3))
