import torch
import torch._inductor.decomposition
import torch._inductor.lowering
import torch.nn.functional as F


def refuse(*args, **kwargs):
    raise KeyError("no")


torch._inductor.lowering.lowerings[torch.ops.aten.silu.default] = refuse
torch._inductor.decomposition.decompositions.pop(torch.ops.aten.silu.default)
torch.compile(F.silu)(torch.ones(3))
