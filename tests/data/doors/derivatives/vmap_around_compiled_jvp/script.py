import torch
from torch.func import jvp, vmap


def f(x):
    return torch.sin(x) * x


def jvp_fn(x, v):
    return jvp(f, (x,), (v,))[1]


x = torch.randn(5, 3)
v = torch.randn(5, 3)
ref = vmap(jvp_fn)(x, v)
out = vmap(torch.compile(jvp_fn, fullgraph=True))(x, v)
torch.testing.assert_close(out, ref)
