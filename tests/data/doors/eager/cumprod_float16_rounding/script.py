import torch

x = torch.full((3, 4, 5), 6.5, dtype=torch.float16)
out = torch.cumprod(x, 1)
ref = torch.cumprod(x.double(), 1)
print(out[0, :, 0], ref[0, :, 0])
assert torch.equal(out.double(), ref), "cumprod of float16 is wrong on the CPU"
