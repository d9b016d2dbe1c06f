import sys

import torch
from torch._dynamo.utils import same


def custom_backend(gm, example_inputs):
    def run(*args):
        return tuple(o + (o > 5) for o in gm(*args))

    return run


def repro(x):
    y = x + 1
    z = torch.cumsum(y, 0)
    torch._dynamo.graph_break()
    return torch.mul(z, 2)


def inputs():
    return (torch.ones(6, 100),)


def run(compile, double=False):
    torch.manual_seed(0)
    model = repro
    args = inputs()
    if double:
        args = [x.double() if x.is_floating_point() else x for x in args]
    out = compile(model)(*args)
    return out if isinstance(out, (tuple, list)) else [out]


def main():
    try:
        expected = run(lambda model: model)
    except Exception as error:
        print("eager fails here:", error)
        sys.exit(125)
    actual = run(lambda model: torch.compile(model, backend=custom_backend))
    exact = run(lambda model: model, double=True)
    for e, a, x in zip(expected, actual, exact):
        assert same(e, a, fp64_ref=x), "wrong result"


if __name__ == "__main__":
    main()
