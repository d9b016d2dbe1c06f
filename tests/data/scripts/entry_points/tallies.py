# A real bug of every release: Dynamo repeats an assignment that was refused. Backend eager keeps it quick.
import torch


class Tracker:
    pass


def tally(x, meta):
    try:
        meta.__weakref__ = None
    except AttributeError:
        pass
    return x * 2


compiled = torch.compile(tally, backend="eager")


def fast_tally():
    return compiled(torch.ones(3), Tracker())
