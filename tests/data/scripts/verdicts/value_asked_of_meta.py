import torch


@torch.compile(backend="eager")
def program(x):
    return x * x.sum().item()


program(torch.ones(3, device="meta"))
