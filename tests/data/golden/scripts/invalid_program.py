import torch


@torch.compile(backend="eager")
def project(rows):
    return rows @ torch.ones(4)


print(project(torch.ones(3)))
