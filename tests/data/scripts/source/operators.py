import torch
from torch import nn

@torch.library.custom_op("secret_space::secret_scale", mutates_args=())
def secret_scale(secret_x: torch.Tensor, secret_factor: float, *, secret_shift: int = 2) -> torch.Tensor:
    return secret_x * secret_factor + secret_shift

@secret_scale.register_fake
def _(secret_x, secret_factor, *, secret_shift=2):
    return torch.empty_like(secret_x)

def secret_setup(ctx, inputs, keyword_only_inputs, output):
    ctx.secret_factor = inputs[1]

def secret_backward(ctx, grad):
    return grad * ctx.secret_factor, None

secret_scale.register_autograd(secret_backward, setup_context=secret_setup)

@torch.library.custom_op("secret_space::secret_fill", mutates_args=("secret_out",))
def secret_fill(secret_out: torch.Tensor, secret_like: torch.Tensor) -> None:
    secret_out.copy_(secret_like + 1)

class SecretModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.secret_proj = nn.Linear(3, 3)

    def forward(self, x):
        y = secret_scale(self.secret_proj(x), 1.5, secret_shift=3)
        z = torch.empty_like(y)
        torch.ops.secret_space.secret_fill(z, secret_like=y)
        (grad,) = torch.autograd.grad(y.sum(), self.secret_proj.bias)
        return z, torch.ops.secret_space.secret_scale.default(y, 2.0), grad

ENTRY = SecretModel()
ARGS = (torch.randn(2, 3),)
