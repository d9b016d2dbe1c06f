import sys

import torch
import torch._inductor.config as config

config.triton.inject_relu_bug_TESTING_ONLY = sys.argv[1]


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(32)
        self.up = torch.nn.Linear(32, 64)

    def forward(self, x):
        return torch.relu(self.up(self.norm(x)))


torch.manual_seed(0)
block = Block().cuda().eval()
x = torch.randn(4, 32, device="cuda")
with torch.no_grad():
    torch.testing.assert_close(torch.compile(block)(x), block(x), rtol=1e-3, atol=1e-3)
