import math

import torch

x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
(slope,) = torch.autograd.grad(torch.sinc(x).sum(), x, create_graph=True)
(curvature,) = torch.autograd.grad(slope.sum(), x)
print(slope, curvature)
# sinc(x) = 1 - (pi x)^2 / 6 + ...
torch.testing.assert_close(curvature, torch.full_like(x, -math.pi**2 / 3))
