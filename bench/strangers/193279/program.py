import torch


class SinWithZeroBackward(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return torch.zeros_like(grad)


def loss(x):
    return SinWithZeroBackward.apply(x).sum()


x = torch.randn(4)

print(torch.func.grad(loss)(x))  # zeros: custom backward respected
print(torch.compile(torch.func.grad(loss), backend="eager", fullgraph=True)(x))
