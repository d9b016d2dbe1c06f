import torch
import torch.nn as nn


class Scorer(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.act = nn.GELU()

    def forward(self, x, padded):
        h = self.proj(x).masked_fill(padded[:, None], float("inf"))
        return self.act(h).amin(-1)


torch.manual_seed(0)
scorer = Scorer().eval()
x = torch.randn(6, 16)
padded = torch.tensor([False, True, False, False, True, False])
with torch.no_grad():
    torch.testing.assert_close(torch.compile(scorer)(x, padded), scorer(x, padded))
