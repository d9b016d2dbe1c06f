import torch
from torch import nn


class OffsetTable(nn.Module):
    def __init__(self, rows=500, dim=64):
        super().__init__()
        self.register_buffer("w", torch.randn(rows, dim))

    def forward(self, ids):
        return (self.w[ids * 3 + 1] * 2).relu()


good = torch.arange(40000) % 100
bad = torch.arange(40000) % 400
m = OffsetTable()
ep = torch.export.export(m, (good,))
package = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(ep))
torch.testing.assert_close(package(good), m(good))
for name, f in (("eager", m), ("exported", ep.module()), ("package", package)):
    try:
        f(bad)
        print(name, "returned")
    except Exception as e:
        print(name, type(e).__name__, str(e)[:70])
