import torch
from torch import nn

net = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
ep = torch.export.export(net, (torch.randn(4, 16),))
served = ep.module()
print(served(torch.randn(4, 16)).shape)
print(served(torch.randn(5, 16)).shape)
