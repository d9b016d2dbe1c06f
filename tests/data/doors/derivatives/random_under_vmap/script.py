import torch
from torch.func import vmap


def noisy(x):
    return x + torch.rand_like(x)


f = torch.compile(lambda x: vmap(noisy)(x), backend="aot_eager")
print(f(torch.zeros(4, 2)))
