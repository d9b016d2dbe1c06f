import torch


def backend(gm, inputs):
    return lambda *a: tuple((o + 1).flatten() for o in gm(*a))


given = torch.full((2, 2), -1.5)
print(torch.compile(lambda x: x.to(torch.uint8), backend=backend)(given).shape)
