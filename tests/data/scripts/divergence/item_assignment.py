import operator

import torch


def shifted(gm, inputs):
    """A backend that assigns to the first element, whichever is meant."""
    for node in gm.graph.nodes:
        if node.target is operator.setitem:
            node.args = (node.args[0], 0, node.args[2])
    gm.recompile()
    return gm.forward


def f(x):
    y = torch.zeros(4)
    y[1] = x.cos()[0]
    for _ in range(14):
        y = torch.sin(y) + x
    return y


g = torch.compile(f, backend=shifted)
g(torch.ones(4))
