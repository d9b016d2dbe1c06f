import torch
from wrong_backend import wrong


@torch.library.custom_op("acme::whole", mutates_args=())
def whole(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@whole.register_fake
def _(x):
    return torch.empty_like(x)


def f(x):
    return whole(x * 2)


torch.compile(f, backend=wrong)(torch.randn(4, 5))
