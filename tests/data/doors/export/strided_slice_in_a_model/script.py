import torch
from torch import nn
from torch.export import Dim, export


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.score = nn.Linear(width, 1)

    def forward(self, tokens):
        return torch.sigmoid(self.score(self.norm(tokens)))


class Tracker(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.gate = Gate(width)
        self.near = nn.Linear(width, width)
        self.far = nn.Linear(width, width)

    def forward(self, near, far, anchors):
        near = self.near(near) * self.gate(near)
        far = self.far(far) * self.gate(far)
        ticks = anchors[:, ::2].unsqueeze(-1)
        return (torch.cat([near, far], dim=1) + ticks).mean(-1)


torch.manual_seed(5)
model = Tracker().eval()
near, far, anchors = torch.randn(2, 3, 24), torch.randn(2, 5, 24), torch.rand(2, 16)
expected = model(near, far, anchors)
batch = Dim("batch", min=1, max=64)
shapes = ({0: batch, 1: Dim("n")}, {0: batch, 1: Dim("f")}, {0: batch, 1: Dim("a")})
program = export(model, (near, far, anchors), dynamic_shapes=shapes)
torch.testing.assert_close(program.module()(near, far, anchors), expected)
