import torch
import torch._inductor.decomposition
import torch.nn.functional as F


def wrong(x):
    return x * 5


torch._inductor.decomposition.decompositions[torch.ops.aten.silu.default] = wrong
torch.compile(F.silu)(torch.ones(3))
