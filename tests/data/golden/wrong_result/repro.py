import sys

import torch
from torch._dynamo.utils import same


def repro(x, y):
    x.mul_(3)
    return y[0]


def inputs():
    x = torch.randn(3, 4)
    y = x[2:5]
    return (
        x,
        y,
    )


def run(compile):
    torch.manual_seed(0)
    model = repro
    args = inputs()
    out = compile(model)(*args)
    return out if isinstance(out, (tuple, list)) else [out]


def main():
    try:
        expected = run(lambda model: model)
    except Exception as error:
        print("eager fails here:", error)
        sys.exit(125)
    actual = run(lambda model: torch.compile(model))
    for e, a in zip(expected, actual):
        error = (a.double() - e.double()).abs().max().item()
        assert same(
            e, a, equal_nan=True
        ), f"wrong result: max abs error {error:.4g} against eager"


if __name__ == "__main__":
    main()
