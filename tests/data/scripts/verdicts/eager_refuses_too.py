import torch

x = torch.ones(3)
torch.compile(lambda x: x @ torch.ones(4), backend="eager")(x)
