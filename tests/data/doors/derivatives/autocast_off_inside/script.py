import torch
from torch import nn


class FullPrecisionHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(48, 32, bias=False)

    def forward(self, h):
        with torch.autocast("cpu", enabled=False):
            return h.float() @ self.proj.weight.float().t()


torch.manual_seed(0)
head = FullPrecisionHead()
feats = torch.randn(6, 48, dtype=torch.bfloat16)


def weight_grad(fn):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = fn(feats)
    return torch.autograd.grad(y.sin().sum(), head.proj.weight)[0]


g_ref = weight_grad(head)
g_cmp = weight_grad(torch.compile(head, backend="aot_eager"))
print("max grad diff", (g_ref - g_cmp).abs().max().item())
torch.testing.assert_close(g_cmp, g_ref)
