import collections

import torch


def make():
    recent = collections.OrderedDict(a=1, b=2, c=3)

    def program(x):
        recent.move_to_end("a")
        return x * recent["a"]

    return program, recent


program, recent = make()
torch.compile(program, backend="eager")(torch.ones(3))
assert list(recent) == ["b", "c", "a"]
