import copy
import torch


class M(torch.nn.Module):
    def forward(self, x):
        y = copy.copy(x)
        return y + 1


x = torch.randn(3)
print(M()(x))
ep = torch.export.export(M(), (x,))
torch.testing.assert_close(ep.module()(x), x + 1)
