import torch


class M(torch.nn.Module):
    def forward(self, x, reps):
        return torch.repeat_interleave(x, reps, dim=0) * 2


x = torch.randn(4, 3)
reps = torch.tensor([1, 2, 0, 3])
ep = torch.export.export(M(), (x, reps))
torch.testing.assert_close(ep.module()(x, reps), M()(x, reps))
model = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(ep))
torch.testing.assert_close(model(x, reps), M()(x, reps))
r2 = torch.tensor([2, 2, 2, 2])
torch.testing.assert_close(model(x, r2), M()(x, r2))
