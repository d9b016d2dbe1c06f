import torch


def backend(gm, inputs):
    return lambda *a: tuple((o * (1 + 1e-7)).t().contiguous().t() for o in gm(*a))


torch.manual_seed(0)
print(torch.compile(lambda x: x * 1.1, backend=backend)(torch.rand(3, 4)).stride())
