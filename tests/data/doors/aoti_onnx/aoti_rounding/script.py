import torch


class Energy(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x * 3, -1).pow(2).sum(-1).log()


torch.manual_seed(0)
x = torch.randn(64, 4096)
net = Energy()
ep = torch.export.export(net, (x,))
package = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(ep))
ref, out = net(x), package(x)
print((ref - out).abs().max())
assert torch.equal(ref, out), "the package computes something else"
