import torch
import torch.nn.functional as F

# H: 3 -> floor(3*1.3)=3 (UNCHANGED) with a non-unit scale;  W: 4 -> floor(4*1.5)=6 (changed)
x = torch.arange(12, dtype=torch.float32).reshape(1, 1, 3, 4)   # CPU, float32

def fn(z):
    return F.interpolate(z, scale_factor=(1.3, 1.5), mode='nearest')

e = fn(x)
c = torch.compile(fn, backend="inductor")(x)

# height source-row mapping (first column of each output row):
print([int(e[0, 0, i, 0]) // 4 for i in range(3)])   # eager:    [0, 1, 2]  (unchanged dim -> identity)
print([int(c[0, 0, i, 0]) // 4 for i in range(3)])
