import torch

x = torch.tensor([1.0, 2.0, 3.0])


def backend(gm, inputs):
    return lambda *a: gm(*[torch.nextafter(t, torch.zeros(3)) for t in a])


print(torch.compile(lambda x: torch.floor(x * 1), backend=backend)(x))
