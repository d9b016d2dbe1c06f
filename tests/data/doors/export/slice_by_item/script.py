import torch


class Trim(torch.nn.Module):
    def forward(self, x, n):
        k = n.item()
        if k > 3:
            x = x[:k]
        return x.sum()


x, n = torch.randn(8, 4), torch.tensor(5)
print(Trim()(x, n))
ep = torch.export.export(Trim(), (x, n))
