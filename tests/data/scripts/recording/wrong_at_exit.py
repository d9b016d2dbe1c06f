import atexit

import torch


def wrong(gm, inputs):
    return lambda *args: tuple(out + 1 for out in gm(*args))


f = torch.compile(lambda x: x * 2, backend=wrong)
atexit.register(lambda: f(torch.ones(3)))
