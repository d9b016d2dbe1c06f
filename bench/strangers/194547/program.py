import torch

torch.manual_seed(1367)

def fn(loc, scale):
    d = torch.distributions.Normal(loc, scale)
    return d.sample()

loc = torch.zeros(8).to(torch.float16)
scale = torch.ones(8)  # float32

# eager
out = fn(loc, scale)
print(out.dtype)  # torch.float16

# compiled
out = torch.compile(fn)(loc, scale)
print(out.dtype)  # torch.float32
