import torch
import torch.nn.functional as F

@torch.compile(dynamic=True)
def f(x):
    return F.interpolate(x, scale_factor=1 / 300, mode="linear")

shape = f(torch.randn(1, 8, 396 * 300)).shape  # torch.Size([1, 8, 395]) -> wrong shape, should be (1, 8, 396)
assert shape == (1, 8, 396), shape
