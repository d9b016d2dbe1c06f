import torch


def fn(x):
    return torch.ops.aten._foobar(x)


torch.compile(fn)(torch.ones(1))
