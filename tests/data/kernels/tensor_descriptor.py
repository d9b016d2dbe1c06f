import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def add_kernel(tile):
    tile.store([0, 0], tile.load([0, 0]) + 1)


x = torch.zeros(16, 16)
add_kernel[(1,)](TensorDescriptor.from_tensor(x, [16, 16]))
assert x.sum() == 256
