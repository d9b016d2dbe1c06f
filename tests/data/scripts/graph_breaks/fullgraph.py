import torch

step = torch.compile(lambda x: x + 1, backend="eager", fullgraph=True)
step(torch.ones(3))
step(torch.ones(3, dtype=torch.float64))
