"""Words that are parameters, attributes and keys at once."""

import torch
from torch import nn


class SecretOptions:
    def __init__(self, secret_dwell=0.5, secret_age=0.25):
        self.secret_dwell = secret_dwell
        self.secret_age = secret_age


class SecretMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"secret_dwell": nn.Linear(4, 4), "secret_age": nn.Linear(4, 4)})
        self.secret_bias = 0.5

    def forward(self, parts, *, secret_bias):
        options = SecretOptions(secret_age=self.secret_bias)
        total = secret_bias * getattr(self, "secret_bias")
        for name, weight in vars(options).items():
            total = total + weight * self.layers[name](parts[name])
        return total, sorted(vars(options).values())


ENTRY = SecretMixer()
ARGS = ({"secret_dwell": torch.ones(2, 4), "secret_age": torch.zeros(2, 4)},)
KWARGS = {"secret_bias": torch.ones(2, 4)}
