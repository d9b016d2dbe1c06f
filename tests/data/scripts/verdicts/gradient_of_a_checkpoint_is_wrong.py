import torch
from torch._dynamo.backends.common import aot_autograd
from torch.utils.checkpoint import checkpoint


def forward(gm, inputs):
    return gm.forward


def backward(gm, inputs):
    return lambda *a: [o if o is None else o * 2 for o in gm(*a)]


def program(x):
    return checkpoint(lambda x: x.sin() * x, x, use_reentrant=False).sum()


backend = aot_autograd(fw_compiler=forward, bw_compiler=backward)
x = torch.ones(4, requires_grad=True)
torch.compile(program, backend=backend)(x).backward()
print(x.grad)
