"""Refused in one graph; in parts the backend is wrong."""

import torch


def adds_one(graph, inputs):
    def run(*args):
        return tuple(out + 1 for out in graph(*args))

    return run


@torch.compile(backend=adds_one, fullgraph=True)
def program(x):
    x = torch.sin(x)
    torch._dynamo.graph_break()
    return torch.cos(x)


program(torch.ones(4))
