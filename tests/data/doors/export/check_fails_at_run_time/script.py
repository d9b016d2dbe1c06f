import torch
from torch.export import Dim, export

class Foo(torch.nn.Module):
    def forward(self, a):
        u0 = a[0].item()
        torch._check(u0 > 1)
        torch._check(u0 * a.shape[0] == 5)
        return torch.ones(u0)

inp = (torch.randint(2, 10, (6,)),)
ep = export(
    Foo(),
    inp,
    dynamic_shapes={
        "a": (Dim.DYNAMIC,),
    },
)
print(ep.module()(*inp))
