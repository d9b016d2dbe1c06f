import torch


@torch.compile(backend="eager")
def program(x, y):
    return x @ y


try:
    program(torch.ones(3, 4), torch.ones(5, 6))
except RuntimeError:
    print("refused, as in eager mode")
