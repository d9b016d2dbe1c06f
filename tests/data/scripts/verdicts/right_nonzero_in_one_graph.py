import torch


@torch.compile(backend="eager", fullgraph=True)
def program(x):
    return torch.nonzero(x)


program(torch.ones(4))
