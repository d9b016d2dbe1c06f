import torch
from torch.utils.checkpoint import checkpoint

block = torch.compile(lambda x: torch.sin(torch.sin(x)), backend="aot_eager")
x = torch.ones(3, requires_grad=True)
checkpoint(block, x, use_reentrant=False).sum().backward()
print(x.grad is not None)
