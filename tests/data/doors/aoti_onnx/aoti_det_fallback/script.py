import torch


class M(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.det(x) + x.sum((-1, -2))


x = torch.randn(4, 3, 3)
batch = torch.export.Dim("batch")
ep = torch.export.export(M(), (x,), dynamic_shapes=({0: batch},))
model = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(ep))
y = torch.randn(7, 3, 3)
torch.testing.assert_close(model(y), M()(y))
print("ok")
