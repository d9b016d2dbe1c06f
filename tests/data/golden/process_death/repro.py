import sys

import torch


def repro(x, y):
    return x[y]


def inputs():
    return (
        torch.randn(2, 2),
        torch.randint(0, 1199, (625,)),
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


if __name__ == "__main__":
    main()
