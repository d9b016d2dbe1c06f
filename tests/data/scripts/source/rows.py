import torch
from torch import nn

class SecretBlock(nn.Module):
    def forward(self, x):
        return x + 1

class SecretNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.secret_blocks = nn.ModuleList([SecretBlock(), SecretBlock()])

    def forward(self, x, secret_numbered=False):
        secret_steps = list(enumerate(self.secret_blocks)) if secret_numbered else self.secret_blocks
        return secret_steps[0][1](x) if secret_numbered else secret_steps[0](x)

ENTRY = SecretNet()
ARGS = (torch.randn(3),)
