"""Modules whose first bases are not torch's: an abstract one, a generic one, a mixin of both."""

import abc
import functools
import types
from typing import Generic, TypeVar

import torch
from torch import nn

SecretT = TypeVar("SecretT")


class SecretScored(abc.ABC):
    @abc.abstractmethod
    def forward(self, x): ...


class SecretTyped(Generic[SecretT]):
    pass


class SecretHead(SecretScored, nn.Module):
    def __init__(self):
        nn.Module.__init__(self)
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return self.inner(x).relu()


class SecretPlain(abc.ABC, nn.Module):
    def __init__(self):
        nn.Module.__init__(self)

    def forward(self, x):
        return x.sin()


class SecretForward:
    def forward(self, x):
        return self.inner(x).cos()


class SecretMixed(SecretForward, nn.Module):
    def __init__(self):
        nn.Module.__init__(self)
        self.inner = nn.Linear(4, 4)


class SecretNorm(SecretTyped[int], nn.LayerNorm):
    def forward(self, x):
        return super().forward(x) * 2


class SecretGeneric(Generic[SecretT], nn.Module):
    def __init__(self):
        nn.Module.__init__(self)
        self.head, self.plain, self.norm = SecretHead(), SecretPlain(), SecretNorm(4)
        self.mixed = SecretMixed()

    def forward(self, x):
        return self.norm(self.mixed(self.plain(self.head(x))))


class SecretPipeline:
    def __init__(self, stages):
        self._modules = stages


def secret_scale(owner, x):
    return x * owner.by


class SecretOwner:
    by = 3.0


pipeline, bare = SecretPipeline([1, 2]), SecretPipeline(None)
secret_bound = types.MethodType(functools.partial(secret_scale), SecretOwner())


def secret_step(x):
    return secret_bound(model(x)) * len(pipeline._modules) + (bare._modules is None)


torch.manual_seed(0)
model = SecretGeneric().eval()
ENTRY = secret_step
ARGS = (torch.randn(3, 4),)
