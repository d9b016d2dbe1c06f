import sys

import torch


def repro(x, y, z):
    return torch.addmm(x, y, z)


def inputs():
    return (
        torch.randn(2, 1),
        torch.randn(1, 2),
        torch.randn(2, 1),
    )


def run(compile):
    torch.manual_seed(0)
    model = repro
    args = inputs()
    out = compile(model)(*args)
    return out if isinstance(out, (tuple, list)) else [out]


def main():
    try:
        run(lambda model: model)
    except Exception as error:
        print("eager raises", type(error).__name__)
    else:
        sys.exit(125)
    try:
        run(lambda model: torch.compile(model))
    except Exception:
        return
    raise AssertionError("accepts invalid: eager raises, the compiled call returns")


if __name__ == "__main__":
    main()
