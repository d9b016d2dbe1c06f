import torch


def f(x):
    y = -x.sign()
    return torch.cat([y, y]).sum()


x = torch.tensor([200, 77, 5, 255], dtype=torch.uint8)
expected, actual = f(x), torch.compile(f)(x)
error = (actual.double() - expected.double()).abs().max().item()
assert error == 0, f"wrong result: max abs error {error:.4g} against eager"
