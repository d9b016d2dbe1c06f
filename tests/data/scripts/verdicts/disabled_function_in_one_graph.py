import torch


@torch.compiler.disable
def outside(x):
    return x * 2


@torch.compile(backend="eager", fullgraph=True)
def program(x):
    return outside(x) + 1


program(torch.ones(4))
