import torch

def fn(x):
    v = x.contiguous()   # x is contiguous -> v is x
    v.unsqueeze_(2)
    return x

x = torch.arange(24, dtype=torch.int64).reshape(4, 6)
fn(x.clone())                                   # eager: fine, x becomes (4, 6, 1)
torch.compile(fn, backend="eager")(x.clone())   # IndexError: list index out of range
