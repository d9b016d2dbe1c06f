import torch
import torch.nn as nn
import torch.nn.functional as F

class Tiny(nn.Module):
    def forward(self, x):
        return F.relu(x)

m = Tiny().eval()
x = torch.randn(2, 3)
ep = torch.export.export(m, (x,))
torch.export.load(ep)
