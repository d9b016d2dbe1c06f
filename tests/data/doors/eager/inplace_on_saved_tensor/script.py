import torch

w = torch.randn(3, requires_grad=True)
h = torch.exp(w)
h += 1
h.sum().backward()
print(w.grad)
