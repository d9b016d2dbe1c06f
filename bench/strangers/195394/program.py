import torch
import torch.nn as nn

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(64, 1, kernel_size=(125, 1), stride=(2, 2), padding=(63, 63))
        self.linear = nn.Linear(64, 64, bias=False)

    def forward(self, x1, x2):
        return torch.relu(self.linear(self.conv(x1)) + x2)

torch.manual_seed(0)
m = M().eval()
x1 = torch.randn(100, 64, 1, 1)
x2 = torch.randn(100, 64, 1, 1)

with torch.no_grad():
    print("eager ok:", tuple(m(x1, x2).shape))          # (100, 64, 2, 64)
    torch.compile(m, backend="inductor")(x1, x2)
