import torch


def repro(x):
    return (torch.atan2(x, x + 1) * torch.expm1(x).isnan().logical_not(),)


x = torch.randn(64, 133)
for actual, expected in zip(torch.compile(repro)(x), repro(x)):
    torch.testing.assert_close(actual, expected)
