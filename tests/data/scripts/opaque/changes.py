import torch
from wrong_backend import wrong


@torch.library.custom_op("acme::fill", mutates_args=("x",))
def fill(x: torch.Tensor) -> None:
    x.fill_(3)


@fill.register_fake
def _(x):
    return None


def f(x):
    y = x * 2
    fill(y)
    return y.exp()


torch.compile(f, backend=wrong)(torch.randn(4, 5))
