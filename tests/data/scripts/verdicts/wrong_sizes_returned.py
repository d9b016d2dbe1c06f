"""The sizes of a tensor that is made from sizes: they are taken for its values."""

import torch


def tile(x):
    frame = torch.Tensor(x.size())
    return x * 2, frame.shape


x = torch.randn(4, 8)
(_, eager), (_, compiled) = tile(x), torch.compile(tile, backend="eager")(x)
print(eager, compiled)
