import torch
from held_clock import in_the_program


def backend(gm, inputs):
    return lambda *a: (gm(*a)[0] + 7 * in_the_program(),)


print(torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3)))
