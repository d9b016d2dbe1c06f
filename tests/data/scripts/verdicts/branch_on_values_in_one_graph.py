import torch


@torch.compile(backend="eager", fullgraph=True)
def program(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


program(torch.ones(4))
