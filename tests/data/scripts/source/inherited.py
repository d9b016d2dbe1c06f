import functools
import torch
from torch import nn

class SecretBase(nn.Module):
    secret_factor = 2
    def __init__(self, secret_width):
        super().__init__()
        self.secret_layer = nn.Linear(secret_width, secret_width)
        self.register_buffer("secret_positions", torch.arange(secret_width))
    def secret_helper(self, x):
        return self.secret_layer(x) * self.secret_factor

class SecretChild(SecretBase):
    def forward(self, x):
        return self.secret_helper(x) + self.secret_positions

class SecretStack(nn.Sequential):
    def forward(self, x, secret_times):
        for _ in range(secret_times):
            x = super().forward(x)
        return x

class SecretWrapped(nn.Linear):
    def forward(self, x):
        return super().forward(x) + self.in_features

ENTRY = functools.partial(SecretStack(SecretChild(4), SecretChild(4), SecretWrapped(4, 4)), secret_times=2)
ARGS = (torch.randn(2, 4),)
