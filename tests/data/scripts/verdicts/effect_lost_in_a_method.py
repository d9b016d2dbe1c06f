"""A method of a class that a function made writes to what it closes over (pytorch/pytorch#197896)."""

import torch


def make():
    count, log = {"n": 0}, []

    class Helper:
        def touch(self):
            count["n"] += 1
            log.append(1)

    return Helper, count, log


Helper, count, log = make()


@torch.compile(backend="eager")
def program(x):
    Helper().touch()
    return x + 1


program(torch.ones(3))
