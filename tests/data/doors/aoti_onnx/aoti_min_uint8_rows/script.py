import torch


class Darkest(torch.nn.Module):
    def forward(self, pixels):
        return torch.min(pixels, 1).values


torch.manual_seed(0)
pixels = torch.randint(100, 256, (7, 37), dtype=torch.uint8)
net = Darkest()
ep = torch.export.export(net, (pixels,))
torch.testing.assert_close(ep.module()(pixels), net(pixels))
package = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(ep))
torch.testing.assert_close(package(pixels), net(pixels))
