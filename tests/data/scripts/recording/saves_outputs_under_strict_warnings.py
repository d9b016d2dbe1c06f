import io
import warnings

import torch

warnings.simplefilter("error")
weight = torch.ones(3, requires_grad=True)
y = torch.compile(lambda x: x * weight, backend="eager")(torch.ones(3))
torch.save(y, io.BytesIO())
y.sum().backward()
print(y._backward_hooks, weight.grad.tolist())
