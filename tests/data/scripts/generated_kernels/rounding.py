import torch


def repro(x):
    return torch.round(x), torch.floor(x), torch.fmod(x, 0.3), torch.nextafter(x, x + 1)


x = torch.randn(64, 133)
for actual, expected in zip(torch.compile(repro)(x), repro(x)):
    torch.testing.assert_close(actual, expected)
