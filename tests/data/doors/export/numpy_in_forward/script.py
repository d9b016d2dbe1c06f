import numpy as np
import torch


class Table(torch.nn.Module):
    def forward(self, x):
        lut = np.interp(x.numpy(), [0.0, 1.0], [0.0, 10.0])
        return torch.from_numpy(lut)


x = torch.rand(5)
print(Table()(x))
ep = torch.export.export(Table(), (x,))
torch.testing.assert_close(ep.module()(x), Table()(x))
