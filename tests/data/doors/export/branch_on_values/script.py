import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x - 1


ep = torch.export.export(Gate(), (torch.randn(4),))
print(ep.module()(torch.ones(4)))
