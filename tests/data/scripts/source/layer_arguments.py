"""Stock layers that were given a layer, a function or a tensor to be made with."""

import torch
from torch import nn


def secret_swish(x):
    return x * torch.sigmoid(1.25 * x)


class SecretGate(nn.Module):
    def __init__(self):
        super().__init__()
        self.secret_scale = nn.Parameter(torch.ones(32))

    def forward(self, x):
        return torch.tanh(x) * self.secret_scale


class SecretEncoder(nn.TransformerEncoderLayer):
    def __init__(self, secret_size):
        super().__init__(
            secret_size, 4, 32, dropout=0.0, activation=nn.PReLU(), batch_first=True
        )


class SecretNet(nn.Module):
    def __init__(self):
        super().__init__()
        options = {"dropout": 0.0, "batch_first": True}
        self.silu = nn.TransformerEncoderLayer(16, 4, 32, activation=nn.SiLU(), **options)
        self.swish = nn.TransformerEncoderLayer(16, 4, 32, activation=secret_swish, **options)
        self.gate = nn.TransformerDecoderLayer(16, 4, 32, activation=SecretGate(), **options)
        self.own = SecretEncoder(16)
        self.head = nn.Linear(16, 5)
        self.loss = nn.CrossEntropyLoss(weight=torch.rand(5) + 0.5, label_smoothing=0.1)
        self.pair = nn.TripletMarginWithDistanceLoss(distance_function=nn.PairwiseDistance(1.0))

    def forward(self, x, secret_target):
        h = self.own(self.gate(self.swish(self.silu(x)), x))
        found = self.head(h.mean(1))
        return self.loss(found, secret_target) + self.pair(found, found * 2, found * 3)


torch.manual_seed(0)
ENTRY = SecretNet()
ARGS = (torch.randn(3, 5, 16), torch.randint(0, 5, (3,)))
