import torch
from held_clock import in_the_program


def backend(gm, inputs):
    def run(*a):
        if in_the_program():
            raise KeyError("only here")
        return gm(*a)

    return run


print(torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3)))
