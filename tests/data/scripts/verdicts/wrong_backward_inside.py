import torch


class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, o):
        return o.clone()

    @staticmethod
    def backward(ctx, g):
        return 3 * g


def backend(gm, inputs):
    return lambda *a: tuple(Tripled.apply(o) for o in gm(*a))


w = torch.nn.Parameter(torch.ones(3))


def step(v):
    (w * v).sum().backward()


torch.compile(step, backend=backend)(torch.ones(3))
