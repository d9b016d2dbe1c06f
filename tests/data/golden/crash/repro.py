import sys

import torch


def repro(x):
    return torch.ops.aten._foobar(x)


def inputs():
    return (torch.randn(1),)


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
        print("eager fails here:", error)
        sys.exit(125)
    run(lambda model: torch.compile(model))


if __name__ == "__main__":
    main()
