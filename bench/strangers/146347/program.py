import torch

@torch.compile(backend="eager", fullgraph=True)
def f(x, it):
    iter(it)
    return x.sin()

x = torch.randn(3)
f(x, enumerate(range(0, 3)))
