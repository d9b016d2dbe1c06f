import torch


@torch.compile(backend="eager", fullgraph=True)
def program(x):
    exec("y = 1")
    return x + 1


program(torch.ones(4))
