"""Fails by what its cached function does while Dynamo traces it, beside values that round."""

import functools

import torch

calls = 0


@functools.lru_cache(maxsize=None)
def weights(count):
    global calls
    calls += 1
    return [1.0 / (index + 1) for index in range(count)]


def mix(x):
    for weight in weights(4):
        x = torch.softmax(x * weight, -1) + torch.sin(x)
    return x


torch.manual_seed(0)
x = torch.randn(8, 64)
mix(x)
compiled = torch.compile(mix)
compiled(x)
assert calls == 1, f"the weights were computed {calls} times"
