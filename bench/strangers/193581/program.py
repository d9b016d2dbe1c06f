import torch
import torch.nn as nn
import torch.nn.functional as F

class TestModule(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device = device
    def forward(self, a):
        v_conv = F.conv2d(
            a,
            torch.zeros(2, 2, 1, 6, device=self.device),
            stride=1, padding=2, dilation=1, groups=1
        )
        v_idx = torch.index_select(
            v_conv, 2,
            torch.tensor([3, 4, 6, 8], device=self.device)
        )
        return v_idx

torch.manual_seed(42)
a = torch.rand(1, 2, 5, 6, dtype=torch.float32)
model = TestModule(device='cpu')
compiled = torch.compile(model, mode="default")
with torch.no_grad():
    v = compiled(a)
