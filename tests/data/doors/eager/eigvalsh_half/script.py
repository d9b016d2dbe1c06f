import torch

cov = torch.eye(4, dtype=torch.float16)
print(torch.linalg.eigvalsh(cov))
