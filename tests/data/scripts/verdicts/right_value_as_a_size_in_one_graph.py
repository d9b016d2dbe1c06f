import torch


@torch.compile(backend="eager", fullgraph=True)
def program(x):
    return torch.zeros(int(x.sum()))


program(torch.ones(4))
