import torch
import triton
import triton.language as tl


@triton.jit
def mix_kernel(pointer, BLOCK: tl.constexpr):
    at = pointer + tl.arange(0, BLOCK)
    tl.store(at, tl.load(at) ^ 3)


x = torch.full((128,), 5, dtype=torch.uint32)
mix_kernel[(1,)](x, BLOCK=128)
assert x.tolist() == [6] * 128
