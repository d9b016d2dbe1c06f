import torch
from wrong_backend import wrong


@torch.library.custom_op("acme::split", mutates_args=())
def split(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x + 1, x.sum(1)


@split.register_fake
def _(x):
    return torch.empty_like(x), x.new_empty(x.shape[0])


def f(x):
    return torch.tanh(split(x * 2)[1]).exp()


torch.compile(f, backend=wrong)(torch.randn(4, 5))
