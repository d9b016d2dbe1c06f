import torch

@torch.compile
def fn_det(x):
    return torch.linalg.det(x)

out = fn_det(torch.randn(1, 4))
