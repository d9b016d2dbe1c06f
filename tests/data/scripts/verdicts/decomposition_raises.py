import torch
import torch._inductor.decomposition
import torch.nn.functional as F


def refuse(*args, **kwargs):
    raise KeyError("no")


torch._inductor.decomposition.decompositions[torch.ops.aten.silu.default] = refuse
torch.compile(F.silu)(torch.ones(3))
