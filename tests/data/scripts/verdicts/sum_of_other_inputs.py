import torch

x = torch.tensor([1.0, 2.0, 3.0])


def backend(gm, inputs):
    return lambda *a: gm(*[t + 1 for t in a])


print(torch.compile(lambda x: x * 1 + 1, backend=backend)(x))
