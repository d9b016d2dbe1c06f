import torch
import torch.nn.functional as F


class Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, o):
        return o.clone()

    @staticmethod
    def backward(ctx, g):
        return g


def backend(gm, inputs):
    return lambda *a: tuple(Passed.apply(o) for o in gm(*a))


torch.manual_seed(0)
x = torch.ones(3)
net = torch.nn.Linear(3, 2)
f = torch.compile(net, backend=backend)
F.mse_loss(f(x), torch.ones(2)).backward()
