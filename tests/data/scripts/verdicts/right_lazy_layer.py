import torch

x = torch.ones(3)
torch.compile(torch.nn.LazyLinear(2), backend="eager")(x)
torch.compile(lambda v: v + 1, backend="eager")(x)
