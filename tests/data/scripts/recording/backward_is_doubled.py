import torch
from torch._dynamo.backends.common import aot_autograd


def twice(gm, inputs):
    return lambda *args: [out * 2 for out in gm.forward(*args)]


backend = aot_autograd(fw_compiler=lambda gm, inputs: gm.forward, bw_compiler=twice)
x = torch.ones(3, requires_grad=True)
y = torch.compile(torch.sin, backend=backend)(x)
(y.cos() * 3).sum().backward()
