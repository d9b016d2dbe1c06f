import torch


def repro(x):
    return torch.nn.functional.pad(x, (1, 2)), torch.cat([x, x + 1]), x[torch.arange(3, 9)]


x = torch.randn(64, 133)
for actual, expected in zip(torch.compile(repro)(x), repro(x)):
    torch.testing.assert_close(actual, expected)
