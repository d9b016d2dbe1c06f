import torch


def backend(gm, inputs):
    return lambda *a: (torch.zeros(2, 2),)


m = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
torch.compile(lambda m: torch.linalg.cholesky(m), backend=backend)(m)
