import torch


@torch.compile(backend="aot_eager")
def energy(x):
    return (x ** 3).sum()


x = torch.randn(5)
e = energy(x)
force, = torch.autograd.grad(e, x)
print(force)
