"""canary_docstring is the project's name."""
import os
import torch
from torch import nn

SETTINGS = {"canary_key": 3}


def canary_helper_function(factor, canary_default_mode="canary_default"):
    canary_closure = factor

    def scaled(x):
        return x * canary_closure  # canary_comment asked for this

    return scaled


class canary_helper_class(nn.Module):
    """The canary_docstring block."""

    def __init__(self, width=SETTINGS["canary_key"]):
        super().__init__()
        self.canary_attribute = nn.Linear(width, width)
        self.register_buffer("canary_buffer", torch.ones(width))
        self.note = f"canary_fstring of {width}"
        self.scaled = canary_helper_function(2.0)
        self.__canary_dunder__ = torch.ones(width)

    def forward(self, canary_argument):
        if canary_argument.dim() > 9:
            raise ValueError("canary_error must not have so many dimensions")
        hidden = self.scaled(self.canary_attribute(canary_argument)) + self.canary_buffer
        return self.last(hidden)

    def __canary_dunder_method__(self, hidden):
        return hidden + self.__canary_dunder__

    def last(self, hidden):
        hidden = self.__canary_dunder_method__(hidden)
        return FAILING
