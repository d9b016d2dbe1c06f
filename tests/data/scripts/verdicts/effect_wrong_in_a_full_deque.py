"""`appendleft` to a deque that is full drops its other end."""

import collections

import torch

last = collections.deque(maxlen=3)


@torch.compile(backend="eager")
def program(x):
    last.append(1)
    last.append(2)
    last.appendleft(0)
    last.append(9)
    last.rotate(1)
    return x + 1


for _ in range(2):
    program(torch.ones(3))
