import torch


def fn(x, y):
    x.mul_(3)
    return y[0]


torch.manual_seed(0)
x = torch.randn(3, 4)
y = x[2:5]
torch.testing.assert_close(torch.compile(fn)(x, y), fn(x, y))
