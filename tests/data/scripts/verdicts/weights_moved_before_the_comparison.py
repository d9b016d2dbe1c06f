import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
x = torch.randn(32, 6)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def step():
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.detach()


compiled = torch.compile(net)
before = step()
assert torch.allclose(before, compiled(x).pow(2).mean())
