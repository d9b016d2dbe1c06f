import torch

class SecretOp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, secret_counter):
        ctx.secret_counter = secret_counter
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.secret_counter + x, None

def secret_step(x):
    return SecretOp.apply(x, 2).sin()

ENTRY = secret_step
ARGS = (torch.randn(3, requires_grad=True),)
