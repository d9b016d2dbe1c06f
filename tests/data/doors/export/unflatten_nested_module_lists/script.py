import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)]) for _ in range(2)])
        self.heads = nn.ModuleDict({"a": nn.ModuleDict({"x": nn.Linear(4, 2)})})

    def forward(self, x):
        for stage in self.stages:
            for layer in stage[:2]:
                x = torch.relu(layer(x))
        return self.heads["a"]["x"](x)


net = Net()
x = torch.randn(3, 4)
ep = torch.export.export(net, (x,), strict=True)
un = torch.export.unflatten(ep)
torch.testing.assert_close(un(x), net(x))
