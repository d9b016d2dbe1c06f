import torch


class Darkest(torch.nn.Module):
    def forward(self, pixels):
        return torch.min(pixels, 1).values


torch.manual_seed(0)
pixels = torch.randint(100, 256, (7, 37), dtype=torch.uint8)
net = Darkest()
library = torch._export.aot_compile(net, (pixels,))
run = torch._export.aot_load(library, "cpu")
torch.testing.assert_close(run(pixels), net(pixels))
