import torch
from torch._dynamo.backends.common import aot_autograd


def refuse(gm, inputs):
    raise NotImplementedError("no backward pass")


backend = aot_autograd(fw_compiler=lambda gm, inputs: gm.forward, bw_compiler=refuse)
x = torch.ones(3, requires_grad=True)
torch.compile(torch.sin, backend=backend)(x).sum().backward()
