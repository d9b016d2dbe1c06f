import torch

@torch.compile
def indexit(A, b):
    return A[b - 1]

A = torch.rand(20)
b = torch.zeros(4)

print(indexit(A, b))
