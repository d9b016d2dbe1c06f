import sys

import torch


def repro(x):
    return torch.any(x)


def inputs():
    return (torch.randint(0, 1, (1,), dtype=torch.uint8),)


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
        if isinstance(e, torch.Tensor):
            assert (
                e.dtype == a.dtype
            ), f"wrong metadata: dtype is {e.dtype} in eager, {a.dtype} compiled"


if __name__ == "__main__":
    main()
