import torch

f = torch.compile(lambda x: x.sin() + 1, backend="eager")
for _ in range(3):
    f(torch.ones(3))
