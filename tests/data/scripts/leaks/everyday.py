import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, scale=2.0, temp=0.5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        out = x * 2  # scale the batch, then take the mean of the loss
        return out


model = Net()
net, ref, batch, loss = model, None, 64, 0.1
print("max diff", loss)
assert ref is None, "wrong result"
