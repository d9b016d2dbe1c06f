"""Programs with state of their own: each call is compared from the state that it starts from."""

import torch


class Sum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x):
        self.total.add_(x)
        x.zero_()
        return self.total * 2


module = Sum()
exported = torch.export.export(module, (torch.ones(2),))
own, shared = torch.export.unflatten(exported), exported.module()
for program in own, shared:
    for step in range(3):
        program(torch.full((2,), float(step + 1)))
module(torch.ones(2))
shared(torch.ones(2))
own(torch.ones(2))
