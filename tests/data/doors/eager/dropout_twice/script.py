import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))
x = torch.randn(4, 8)
a, b = net(x), net(x)
print((a - b).abs().max())
assert torch.allclose(a, b), "the same input gives two outputs"
