import torch


class Batch:
    def __init__(self, ids, mask):
        self.ids, self.mask = ids, mask


class Net(torch.nn.Module):
    def forward(self, batch):
        return (batch.ids * batch.mask).sum(-1)


b = Batch(torch.randn(2, 5), torch.ones(2, 5))
print(Net()(b))
ep = torch.export.export(Net(), (b,))
