import sys

import torch
from torch._dynamo.utils import same


def custom_backend(gm, example_inputs):
    for value1 in gm.graph.nodes:
        value2 = value1.meta.get("example_value")
        if isinstance(value2, torch.SymInt):
            value1.replace_all_uses_with(value2.node.hint)
    return gm.forward


def repro(x, y):
    return y - (x.size(1) - 1)


def inputs(n=1):
    return (
        torch.randn(1, n, 1),
        torch.randint(0, 1, (n,)),
    )


def run(compile, calls, double=False):
    torch.manual_seed(0)
    model = repro
    function = compile(model)
    for sizes in calls:
        args = inputs(*sizes)
        if double:
            args = [x.double() if x.is_floating_point() else x for x in args]
        out = function(*args)
    return out if isinstance(out, (tuple, list)) else [out]


def main():
    try:
        expected = run(lambda model: model, [(2,), (3,)])
    except Exception as error:
        print("eager fails here:", error)
        sys.exit(125)
    actual = run(
        lambda model: torch.compile(model, backend=custom_backend, dynamic=True),
        [(2,), (3,)],
    )
    exact = run(lambda model: model, [(2,), (3,)], double=True)
    for e, a, x in zip(expected, actual, exact):
        off = [(t.double() - x.double()).square().mean().sqrt().item() for t in (e, a)]
        assert same(
            e, a, fp64_ref=x, equal_nan=True
        ), f"stale graph: eager is off by {off[0]:.4g} from float64, compiled by {off[1]:.4g}"


if __name__ == "__main__":
    main()
