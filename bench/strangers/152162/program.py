import torch

@torch.compile
def func(x):
    x.data = x.to(dtype=torch.bfloat16)

t = torch.tensor([1,2,3], dtype=torch.float)
func(t)
