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


torch.manual_seed(0)
x = torch.ones(3)
net = torch.nn.Linear(3, 2)
f = torch.compile(net, backend=backend)
torch.amp.GradScaler("cpu").scale(f(x).square().sum()).backward()
