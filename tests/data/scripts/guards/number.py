import torch
from baked import baked, number

f = torch.compile(lambda x, n: x * n, backend=baked(number), dynamic=True)
for n in (3, 4):
    f(torch.ones(5), n)
