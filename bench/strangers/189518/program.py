import torch

def f():
    ones = torch.ones((2, 4, 4), dtype=torch.bool)
    return ones.cumsum(1, dtype=torch.bfloat16)

eager = f()
compiled = torch.compile(f)()
print(eager.dtype)     # torch.bfloat16
print(compiled.dtype)  # torch.int64  <- wrong
assert eager.dtype == compiled.dtype
