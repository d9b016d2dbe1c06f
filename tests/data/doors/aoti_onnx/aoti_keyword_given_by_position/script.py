import torch


class Blend(torch.nn.Module):
    def forward(self, a, b, *, weight):
        return a * weight + b * (1 - weight)


a, b, w = torch.randn(3), torch.randn(3), torch.rand(3)
ep = torch.export.export(Blend(), (a, b), {"weight": w})
package = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(ep))
print(package(a, b, weight=w))
print(package(a, b, w))
