"""As Lightning compiles the steps of a compiled module: with what its wrapper compiles with."""

import copy

import torch
from torch import nn


def adds_one(gm, inputs):
    return lambda *args: tuple(out + 1 for out in gm(*args))


class Module(nn.Module):
    def training_step(self, x):
        return x * 2


module = torch.compile(Module(), backend=adds_one)
assert type(copy.deepcopy(module).dynamo_ctx) is type(copy.deepcopy(module.dynamo_ctx))
step = module.dynamo_ctx(module._orig_mod.training_step)
step(torch.ones(3))
