import torch
import triton
import triton.language as tl


@triton.jit
def double(value):
    return value * 2


@triton.jit
def apply_kernel(pointer, count, function: tl.constexpr, SHAPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < count + SHAPE[0] - SHAPE[1]
    tl.store(pointer + at, function(tl.load(pointer + at, mask)), mask)


x = torch.ones(100)
apply_kernel[(1,)](x, 100, double, (5, 5), BLOCK=128)
assert x.sum() == 200
