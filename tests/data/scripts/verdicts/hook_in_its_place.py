"""A hook that is there from the start, and two calls with other shapes."""

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(5, 4)
layer.register_full_backward_hook(lambda module, taken, given: taken)
compiled = torch.compile(layer, backend="aot_eager")
for count in (3, 6):
    compiled(torch.randn(count, 5, requires_grad=True)).sum().backward()
