import torch
from torch import nn


class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.pad = nn.ReflectionPad3d(1)
        self.distance = nn.PairwiseDistance(p=2)

    def forward(self, x):
        flat = self.pad(x).view(x.size(0), -1)
        left, right = torch.chunk(flat, 2, dim=1)
        return self.distance(left, right)


def inputs():
    torch.manual_seed(0)
    return (torch.randn(2, 3, 4, 4, 4),)


def main():
    model = Repro().eval()
    args = inputs()
    with torch.no_grad():
        expected = model(*args)
        actual = torch.compile(model)(*args)
        exact = model.double()(*(item.double() for item in args))
    eager = (expected.double() - exact).abs().max().item()
    compiled = (actual.double() - exact).abs().max().item()
    same = torch.allclose(actual, expected, rtol=1e-4, atol=1e-4)
    message = f"wrong result: output 0: eager is off by {eager:.3g}, compiled by {compiled:.3g}"
    assert same, message


if __name__ == "__main__":
    main()
