import torch


class M(torch.nn.Module):
    def forward(self, x):
        return x + 1, x.shape[0]


x = torch.randn(4, 3)
ep = torch.export.export(M(), (x,), dynamic_shapes=({0: torch.export.Dim("b")},))
print(ep.module()(torch.randn(6, 3))[1])
model = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(ep))
y = torch.randn(6, 3)
out, n = model(y)
torch.testing.assert_close(out, y + 1)
assert n == 6, n
