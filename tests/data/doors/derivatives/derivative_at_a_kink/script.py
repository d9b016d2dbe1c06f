import torch
from torch.func import grad

x = torch.tensor(0.0)
g = torch.compile(grad(torch.abs), backend="aot_eager")(x)
numeric = (torch.abs(x + 1e-3) - torch.abs(x)) / 1e-3
print(g, numeric)
torch.testing.assert_close(g, numeric)
