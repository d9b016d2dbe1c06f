import torch


def late(gm, inputs):
    return lambda *args: [out + (args[0].size(0) == 5) for out in gm(*args)]


f = torch.compile(lambda x: x * 2, backend=late, dynamic=False)
for n in (3, 4, 5):
    f(torch.ones(n))
