import torch
from torch import nn
from torch.func import hessian

# a network of ReLUs is piecewise linear: its second derivative is zero
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))


def scalar(x):
    return net(x).squeeze()


x = torch.randn(3)
h = hessian(scalar)(x)
print(h)
assert h.abs().max() > 1e-6, "the Hessian is empty"
