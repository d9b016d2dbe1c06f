import torch
from torch import nn


class Repro(nn.Module):
    def forward(self, x):
        mantissa, exponent = torch.frexp(x)
        return mantissa * exponent


def inputs():
    torch.manual_seed(0)
    return (torch.randn(4, 1),)


def main():
    model = Repro()
    args = inputs()
    expected = model(*args)
    actual = torch.compile(model)(*args)
    assert torch.allclose(actual, expected), "wrong result: output 0"


if __name__ == "__main__":
    main()
