import torch


def crash(gm, example_inputs):
    raise ValueError("no such kernel")


good = torch.compile(lambda x: x + x.sum().item(), backend="eager")
good(torch.ones(2))


def step(x):
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


try:
    torch.compile(step, backend=crash)(torch.ones(3))
except Exception:
    pass
