import torch
from torch.utils.checkpoint import checkpoint

layer = torch.nn.Linear(4, 4)


@torch.compile(backend="aot_eager")
def program(x):
    return checkpoint(lambda x: torch.relu(layer(x)), x, use_reentrant=False).sum()


program(torch.ones(2, 4, requires_grad=True)).backward()
