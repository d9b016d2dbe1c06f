import torch


class M(torch.nn.Module):
    def forward(self, x):
        full = x.repeat((3, 2))
        return torch.as_strided(full[:, ::2], (3, 2), full.stride())


torch.manual_seed(0)
x = torch.randn(1, 1)
ep = torch.export.export(M(), (x,))
path = torch._inductor.aoti_compile_and_package(ep)
model = torch._inductor.aoti_load_package(path)
out1 = M()(x)
torch.testing.assert_close(ep.module()(x), out1)
out2 = model(x)
torch.testing.assert_close(out1, out2, equal_nan=True)
