# An autograd.Function whose context is set up apart, and one that is given it.
import torch

class SecretRound(torch.autograd.Function):
    @staticmethod
    def forward(secret_price):
        return torch.round(secret_price)

    @staticmethod
    def setup_context(secret_ctx, inputs, output):
        secret_ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(secret_ctx, secret_grad):
        (secret_price,) = secret_ctx.saved_tensors
        return secret_grad * (secret_price.abs() < 6)

class SecretScale(torch.autograd.Function):
    @staticmethod
    def forward(secret_ctx, secret_x):
        return secret_x * 3

    @staticmethod
    def backward(secret_ctx, secret_grad):
        return secret_grad * 3

def secret_entry(secret_x):
    return SecretScale.apply(SecretRound.apply(secret_x))

ENTRY = secret_entry
ARGS = (torch.ones(4, requires_grad=True),)
