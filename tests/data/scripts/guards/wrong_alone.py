import torch


def wrong(gm, example_inputs):
    return lambda *args: [out + 1 for out in gm.forward(*args)]


f = torch.compile(lambda x: x * 2, backend=wrong)
f(torch.ones(3))
