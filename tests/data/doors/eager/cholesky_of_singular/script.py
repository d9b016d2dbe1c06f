import torch

x = torch.arange(9.0).reshape(3, 3)
design = torch.cat([x, x], 1)
gram = design.T @ design
print(torch.linalg.cholesky(gram))
