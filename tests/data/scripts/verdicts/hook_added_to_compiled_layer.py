"""A hook that is added between two calls changes the gradients of the second one."""

import torch
from torch import nn


class Gauge(nn.Module):
    def __init__(self):
        super().__init__()
        self.inlet = nn.Linear(5, 4)
        self.outlet = nn.Linear(4, 2)

    def forward(self, level):
        return self.outlet(torch.tanh(self.inlet(level)))


def damp(module, grad_output):
    return tuple(each * 0.01 for each in grad_output)


torch.manual_seed(0)
gauge = Gauge()
compiled = torch.compile(gauge, backend="aot_eager")
compiled(torch.randn(3, 5, requires_grad=True)).sum().backward()
gauge.outlet.register_full_backward_pre_hook(damp)
compiled(torch.randn(3, 5, requires_grad=True)).sum().backward()
