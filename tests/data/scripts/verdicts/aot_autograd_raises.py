"""A backward formula that cannot be traced, which only AOTAutograd wants to."""

import torch


@torch.library.custom_op("shop::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


def backward(ctx, g):
    if type(g) is not torch.Tensor:
        raise NotImplementedError("real tensors only")
    return g * 2


twice.register_autograd(backward)
x = torch.ones(3, requires_grad=True)
torch.compile(lambda x: twice(x) + 1, backend="aot_eager")(x)
