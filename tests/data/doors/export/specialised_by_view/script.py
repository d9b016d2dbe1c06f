import torch


class Split(torch.nn.Module):
    def forward(self, x):
        return x.view(4, 2, -1).sum(1)


x = torch.randn(8, 6)
batch = torch.export.Dim("batch")
ep = torch.export.export(Split(), (x,), dynamic_shapes={"x": {0: batch}})
print(ep)
