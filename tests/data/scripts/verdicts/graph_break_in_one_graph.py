import torch


@torch.compile(backend="eager", fullgraph=True)
def program(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2


program(torch.ones(4))
