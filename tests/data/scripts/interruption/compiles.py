import torch

torch.compile(lambda x: x.sin() + 1)(torch.ones(8))
