import torch
from torch import nn

net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
x = torch.randn(4, 8)
ep = torch.export.export(net, (x,))
ref, out = net(x), ep.module()(x)
print((ref - out).abs().max())
torch.testing.assert_close(out, ref)
