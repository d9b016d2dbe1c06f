import torch
from torch import nn

class Linear(nn.Module):
    '''secret docstring'''
    def __init__(self, secret_size):
        super().__init__()
        self.weight = nn.Linear(secret_size, 4)  # secret comment
        self.view = 3
        self.größe_secret = nn.Parameter(torch.ones(4))

    def forward(self, x):
        y = self.weight(x) * self.größe_secret
        return y.view(-1, self.view - 1) + self.weight.weight.sum()

ENTRY = Linear(6)
ARGS = (torch.randn(2, 6),)
