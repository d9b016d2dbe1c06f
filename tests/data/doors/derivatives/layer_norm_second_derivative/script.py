import torch
from torch.autograd.gradcheck import gradgradcheck

a = torch.randn(2, requires_grad=True, dtype=torch.float64)
bias = torch.randn(2, requires_grad=True, dtype=torch.float64)

def func(a, bias):
    return torch.native_layer_norm(a, (2,), None, bias, 1e-5)

gradgradcheck(func, [a, bias])
