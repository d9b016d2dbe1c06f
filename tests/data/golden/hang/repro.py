import sys

import torch


def custom_backend(gm, example_inputs):
    while (value1.target for value1 in gm.graph.nodes):
        pass
    return gm


def repro(x):
    return torch.cumsum(x, 0)


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
    run(lambda model: torch.compile(model, backend=custom_backend))


if __name__ == "__main__":
    main()
