"""Attributes and methods that only their class can name, in a dictionary and in slots."""

import torch
from torch import nn


class SecretSlotted:
    __slots__ = ("__secret_by", "plus")

    def __init__(self):
        self.__secret_by, self.plus = 3.0, 1.0

    def scale(self, x):
        return x * self.__secret_by + self.plus


class _SecretHead(nn.Module):
    __secret_power = 2

    def __init__(self):
        super().__init__()
        self.__inner = nn.Linear(4, 4)
        self.slotted = SecretSlotted()

    def __raise(self, x):
        return x**self.__secret_power

    def forward(self, x):
        return self.slotted.scale(self.__raise(self.__inner(x)))


torch.manual_seed(0)
ENTRY = _SecretHead().eval()
ARGS = (torch.randn(3, 4),)
