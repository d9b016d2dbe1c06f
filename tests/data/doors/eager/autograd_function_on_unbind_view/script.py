import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


x = torch.randn(4, 6, requires_grad=True).clone()
q, k, v = x.unbind(0)[:3]
q = Double.apply(q)
q.sum().backward()
