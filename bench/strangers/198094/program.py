import torch

def fn(x, src):
    y = torch.slice_scatter(x, src[1:3], dim=0, start=1, end=3)   # fresh tensor in eager
    x.zero_()
    return y

x   = torch.arange(24, dtype=torch.int64, device="cpu").reshape(4, 6)
src = torch.arange(-12, 12, dtype=torch.int64, device="cpu").reshape(4, 6)
print(fn(x.clone(), src.clone()).flatten().tolist()[:8])
print(torch.compile(fn, backend="inductor")(x.clone(), src.clone()).flatten().tolist()[:8])
