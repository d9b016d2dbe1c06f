import os

import torch


def deadly(gm, inputs):
    """A backend that ends the process where exp comes last, and takes tanh for sigmoid."""
    for node in gm.graph.nodes:
        if node.target is torch.sigmoid:
            node.target = torch.tanh
    ends = [node for node in gm.graph.nodes if node.op == "output"][0].args[0]
    if ends[0].target is torch.exp:
        os.abort()
    gm.recompile()
    return gm.forward


def f(x):
    for _ in range(3):
        x = torch.exp(-x)
    return torch.sigmoid(x).cos()


g = torch.compile(f, backend=deadly)
g(torch.ones(3))
