"""What Dynamo says that it does not support, where one graph is asked for."""

import torch


@torch.compile(backend="eager", fullgraph=True)
def program(x):
    print("step")
    return torch.sin(x) + 1


program(torch.ones(4))
