import torch


class LinearModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.fc(x) * 2


model = LinearModel()
x = torch.randn(1, 2)
ep = torch.export.export(model, (x,))
path = torch._inductor.aoti_compile_and_package(ep)
aot = torch._inductor.aoti_load_package(path)
torch.testing.assert_close(aot(x), model(x))

y = torch.randn(3, 2)
try:
    ep.module()(y)
except Exception as e:
    print("exported program:", str(e)[:100])
out = aot(y)
print("package:", out.shape)
assert out.shape == model(y).shape
