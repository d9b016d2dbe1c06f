import torch


def repro(x):
    return x.abs().to(torch.uint8) + 1, (x * 100).int() // 7, x.to(torch.float64) * 2


x = torch.randn(64, 133)
for actual, expected in zip(torch.compile(repro)(x), repro(x)):
    torch.testing.assert_close(actual, expected)
