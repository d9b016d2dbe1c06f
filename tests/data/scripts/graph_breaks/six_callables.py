import torch

fs = [torch.compile(lambda x, i=i: x + i, backend="eager") for i in range(6)]
for _ in range(3):
    for f in fs:
        f(torch.ones(3))
