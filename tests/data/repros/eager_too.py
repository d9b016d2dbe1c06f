import torch


def fn(x):
    return x.add_(1)


x = torch.ones(2)
torch.testing.assert_close(torch.compile(fn, backend="eager")(x).clone(), fn(x))
