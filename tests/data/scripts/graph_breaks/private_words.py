import torch


def secret_step(x, mode):
    torch._dynamo.graph_break()
    return x + len(mode)


step = torch.compile(secret_step, backend="eager")
for mode in ("acme", "widgets"):
    step(torch.ones(3), mode)
