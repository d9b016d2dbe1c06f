import torch


def fn(x):
    return torch.any(x)


x = torch.zeros(1, dtype=torch.uint8)
torch.testing.assert_close(torch.compile(fn)(x), fn(x))
