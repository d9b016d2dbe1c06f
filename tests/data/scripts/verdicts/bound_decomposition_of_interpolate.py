"""The decomposition that AOTAutograd meets while it traces scales what eager copies."""

import torch
import torch.nn.functional as F


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Conv1d(3, 4, 1)

    def forward(self, x):
        return F.interpolate(torch.relu(self.proj(x)), scale_factor=1.3, mode="linear")


torch.manual_seed(0)
model = Head()
x = torch.randn(2, 3, 3)
torch.testing.assert_close(torch.compile(model)(x), model(x))
