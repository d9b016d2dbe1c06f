import io
import torch


class M(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0] // 2
        return x[:n] + x[n:], n


x = torch.randn(6, 3)
ep = torch.export.export(M(), (x,), dynamic_shapes=({0: 2 * torch.export.Dim("h", min=2)},))
buf = io.BytesIO()
torch.export.save(ep, buf)
buf.seek(0)
ep2 = torch.export.load(buf)
y = torch.randn(10, 3)
got, want = ep2.module()(y), M()(y)
torch.testing.assert_close(got[0], want[0])
assert got[1] == want[1], (got[1], want[1])
print("ok")
