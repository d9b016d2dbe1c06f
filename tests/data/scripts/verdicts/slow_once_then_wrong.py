import torch
from held_clock import in_the_program, stand_still


def backend(gm, inputs):
    if in_the_program():
        stand_still()
    return lambda a: (a + 9,)


torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
