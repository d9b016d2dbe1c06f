"""The script's own call takes three quarters of its limit of 600 s, and a repetition longer than the 300 s for one."""

import torch
from held_clock import in_the_program, once, pass_by


def backend(gm, inputs):
    if in_the_program():
        pass_by(450)
    elif once("slower"):
        pass_by(500)
    raise ValueError("no")


torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
