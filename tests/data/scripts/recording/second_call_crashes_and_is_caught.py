import torch


def crash(gm, inputs):
    raise ValueError("no such kernel")


good = torch.compile(lambda x: x + 1, backend="eager")
bad = torch.compile(lambda x: x * 2, backend=crash)
good(torch.ones(2))
try:
    bad(torch.ones(2))
except Exception as error:
    print("caught", type(error).__name__)
