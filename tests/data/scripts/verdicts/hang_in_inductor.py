import torch
import torch._inductor.lowering
from held_clock import stand_still


def lowering(*args, **kwargs):
    stand_still()


torch._inductor.lowering.lowerings[torch.ops.aten.sin.default] = lowering
torch.compile(torch.sin)(torch.ones(3))
